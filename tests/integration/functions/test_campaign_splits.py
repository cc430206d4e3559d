"""A split campaign from its request to its report: loaded, held out, sent, told, exported."""

import json

import pytest

from sluice.adapters.postgres.exports import Exports
from sluice.domain.exports import Part, recipients
from sluice.domain.media import UPLOAD_VALID
from sluice.domain.split import HELD_OUT, Sides
from tests.conftest import NOW, NUMBER
from tests.integration.functions.ports import event_of, failed, reasons
from tests.integration.functions.test_report import told  # noqa: F401 - a fixture
from tests.integration.functions.test_send import send  # noqa: F401 - a fixture
from tests.templates import body, header, listed, message

URI = "s3://audiences/people.csv"
PICTURE = "s3://audiences/clinic.png"
PEOPLE = [f"+4915155{place:06d}" for place in range(200)]
OWN = message(body("Hello {{name}}"))
OTHER = message(body("Dear {{name}} of {{city}}"), name="other")
SPLIT = {
    "key": "spring",
    "holdout": 0.2,
    "variants": [
        {"name": "plain", "share": 0.5},
        {"name": "city", "share": 0.4, "template": OTHER},
    ],
}
SIDES = Sides.of("spring", holdout=0.2, shares=[0.5, 0.4])
NAMES = {1: "plain", 2: "city", 0: ""}


def lines(people):
    return ("address,name,city\n" + "".join(f"{one},Ada,Bonn\n" for one in people)).encode()


@pytest.fixture
def start(campaign, aws):
    """Publishes the split campaign, without its template's check."""
    aws.put(URI, lines(PEOPLE))

    def run(check="off", seconds=900.0, **changes):
        request = {
            "kind": "campaign",
            "campaign": "letter",
            "template": OWN,
            "numbers": [NUMBER],
            "audience": {"s3": URI},
            "category": "utility",
            "split": SPLIT,
        }
        event = event_of(request | changes, kind="campaign")
        return campaign.run(event, check=check, seconds=seconds)

    return run


def variants(world):
    return dict(
        world.database.fetch(
            "SELECT address, COALESCE(variant, 0)"
            " FROM recipient JOIN delivery USING (campaign_id, seq)"
        )
    )


def test_everybody_gets_the_side_of_the_hash_and_who_is_held_out_is_told_apart(
    start,
    world,
    told,  # noqa: F811
):
    start()

    sides = {person: SIDES.side(person) for person in PEOPLE}
    assert variants(world) == {one: side for one, side in sides.items() if side != HELD_OUT}
    held = [line for line, one in enumerate(PEOPLE, start=2) if sides[one] == HELD_OUT]
    assert held
    assert world.database.fetch("SELECT line, reason FROM rejected ORDER BY line") == [
        (line, "holdout") for line in held
    ]
    answer = told({"campaign": "letter", "details": True})
    assert (answer["holdout"], answer["rejected"], answer["rejected_lines"]) == (len(held), 0, [])
    assert answer["details"]["rejected"] == {}
    assert [one["variant"] for one in answer["details"]["variants"]] == ["plain", "city", None]
    assert sum(one["recipients"] for one in answer["details"]["variants"]) == answer["total"]
    assert world.counters_equal_rows()


def test_an_analyst_finds_the_same_sides_in_sql(start, world):
    start()

    rows = world.database.fetch("""
        SELECT COALESCE(variant, 0), CASE WHEN place < 0.2 THEN -1
                             WHEN place < 0.2 + 0.8 * 0.5 THEN 1
                             WHEN place < 0.2 + 0.8 * 0.9 THEN 2 ELSE 0 END
        FROM delivery JOIN recipient USING (campaign_id, seq)
        CROSS JOIN LATERAL (
            SELECT ('x' || left(encode(sha256(convert_to('spring:' || match_key, 'UTF8')), 'hex'),
                                12))::bit(48)::bigint / 281474976710656.0 AS place
        ) AS hashed
    """)
    assert rows
    assert all(stored == found for stored, found in rows)


def test_a_resumed_load_and_another_campaign_with_the_key_give_the_same_sides(
    start, world, monkeypatch, aws
):
    monkeypatch.setattr("sluice.steps.campaign.segments.LOAD_SEGMENT_ROWS", 30)
    tries = 1
    while failed(start(seconds=0)):
        tries += 1
    first = variants(world)
    world.database.fetch("DELETE FROM delivery")
    world.database.fetch("DELETE FROM recipient")
    aws.put(URI, lines(reversed(PEOPLE)))

    start(campaign="again", seconds=900.0)

    assert tries > 3
    assert variants(world) == first


def test_a_person_has_one_side_in_both_ways_to_write_the_number(start, world, aws):
    numbers = [f"{place:08d}" for place in range(60_000_000, 60_000_050)]
    aws.put(URI, lines([f"+5531{number}" for number in numbers]))
    start()
    first = {one.removeprefix("+5531"): side for one, side in variants(world).items()}
    world.database.fetch("DELETE FROM delivery")
    world.database.fetch("DELETE FROM recipient")
    aws.put(URI, lines([f"+55319{number}" for number in numbers]))

    start(campaign="again")

    assert {one.removeprefix("+55319"): side for one, side in variants(world).items()} == first


def test_who_would_get_nothing_anyway_is_not_in_the_holdout(start, world, aws):
    held = next(person for person in PEOPLE if SIDES.side(person) == HELD_OUT)
    others = [person for person in PEOPLE if SIDES.side(person) == HELD_OUT and person != held]
    aws.put("s3://audiences/staff.csv", lines([held]))
    aws.put(URI, lines([held, others[0], others[0]]))
    saved = world.saved.create("staff", request_hash="", s3=URI, is_ndjson=False, etag="e", now=NOW)
    world.database.fetch("INSERT INTO audience_person VALUES (%s, %s)", (saved.audience_id, held))
    world.saved.finish(saved.audience_id, now=NOW)

    start(exclude=[{"saved": "staff"}])

    assert world.database.fetch("SELECT line, reason FROM rejected ORDER BY line") == [
        (2, "excluded: saved audience staff"),
        (3, "holdout"),
        (4, "the same person as in line 3"),
    ]


def test_everybody_needs_what_each_variant_needs(start, world, aws):
    person = next(one for one in PEOPLE if SIDES.side(one) == 1)
    aws.put(URI, f"address,name,city\n{person},Ada,\n".encode())

    start()

    assert world.database.fetch("SELECT reason FROM rejected") == [("no value for city",)]


def test_each_variant_is_held_to_its_template_and_named(start, world, aws, graph):
    graph.tell("config", templates=[listed({"type": "BODY", "text": "{{1}}"}, name="reminder")])
    start(check="required")

    assert reasons(aws) == ["split.variants.city.template: there is none of the name other"]
    wrong = listed(name="other", category="MARKETING")
    good = listed({"type": "BODY", "text": "{{1}}"}, name="reminder")
    graph.tell("config", templates=[good, wrong])
    start(check="required")

    where = "split.variants.city.template"
    assert reasons(aws) == [
        f"{where}: category is utility, but the template's is MARKETING",
        f"{where}.body: the template takes 2 parameters, not 1",
    ]
    assert world.database.fetch("SELECT count(*) FROM campaign") == [(0,)]


def pictured():
    template = message(header("image", {"s3": PICTURE}), body("Dear {{name}}"))
    return {"variants": [{"name": "plain", "share": 0.5}, {"name": "seen", "share": 0.5,
                                                           "template": template}]}  # fmt: skip


def test_the_files_of_a_variant_are_uploaded(start, world):
    start(split=pictured())

    assert world.database.fetch("SELECT s3_uri FROM media") == [(PICTURE,)]


def chunk(campaign_id, rows=100):
    request = {"kind": "send", "campaign_id": campaign_id, "seqs": list(range(1, rows + 1))}
    return event_of(request, kind="send", phone_number_id=NUMBER, lane="conversation")


def test_each_person_is_sent_the_template_of_the_variant(start, world, send):  # noqa: F811
    start()
    (campaign_id,) = world.database.fetch("SELECT campaign_id FROM campaign")[0]
    world.queue(campaign_id, 100)

    send.run(chunk(campaign_id))

    sent = {one["to"]: one["template"] for one in send.api.bodies}
    wanted = {1: ("reminder", "Hello Ada"), 2: ("other", "Dear Ada of Bonn")}
    wanted[0] = ("reminder", "Hello Ada")
    texts = {
        person: (template["name"], template["components"][0]["parameters"][0]["text"])
        for person, template in sent.items()
    }
    assert len(texts) > 50
    assert texts == {person: wanted[SIDES.side(person)] for person in texts}
    assert {SIDES.side(person) for person in texts} == {0, 1, 2}


def test_a_variant_goes_by_the_upload_of_its_number(start, world, send):  # noqa: F811
    start(split=pictured())
    (campaign_id,) = world.database.fetch("SELECT campaign_id FROM campaign")[0]
    world.queue(campaign_id, 50)

    send.run(chunk(campaign_id, 50))

    ((media_id, uploaded_at),) = world.database.fetch("SELECT media_id, uploaded_at FROM media")
    kinds = [one["template"]["components"][0] for one in send.api.bodies]
    assert header("image", {"id": media_id}) in kinds
    assert world.claims.policy(campaign_id).media_until == uploaded_at + UPLOAD_VALID


def test_an_export_names_the_variants(start, world, tmp_path):
    start()
    (campaign_id,) = world.database.fetch("SELECT campaign_id FROM campaign")[0]
    table = recipients(["address", "variant"], parameters=False)

    Exports(world.database).copy(campaign_id, Part(table, 1, 1_000), tmp_path / "part.csv")

    rows = [line.split(",") for line in (tmp_path / "part.csv").read_text().splitlines()[1:]]
    assert dict(rows) == {one: NAMES[side] for one, side in variants(world).items()}


def test_a_test_of_a_split_campaign_is_told_by_its_variants(
    start,
    world,
    aws,
    command,
    send,  # noqa: F811
    told,  # noqa: F811
):
    start()
    person = {"address": PEOPLE[0], "parameters": {"name": "Ada", "city": "Bonn"}}
    order = {
        "kind": "command", "action": "test", "campaign": "letter", "id": "look",
        "recipients": [person],
    }  # fmt: skip

    assert not failed(command.run(event_of(order, kind="command")))
    for letter in aws.letters("published"):
        request = json.loads(letter.body)
        send.run(event_of(request, **letter.attributes))

    messages = told({"test": "look"})["messages"]
    assert [one["variant"] for one in messages] == [None, "city", "plain"]
    assert {one["state"] for one in messages} == {"done"}
    names = sorted(one["template"]["name"] for one in send.api.bodies)
    assert names == ["other", "reminder", "reminder"]

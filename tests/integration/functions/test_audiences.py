"""kind=audience through campaign.handle: saved, sent to, left out, dropped."""

import json

import pytest

from functions.report.handler import handle as report
from sluice.adapters.audience import Audiences
from sluice.adapters.postgres import saved_audiences
from sluice.domain.limits import LOAD_SEGMENT_ROWS
from tests.integration.functions.ports import event_of, failed, reasons

URI = "s3://audiences/members.csv"
FIRST, SECOND, THIRD = "+4915155000001", "+4915155000002", "+4915155000003"


def lines(*addresses):
    return ("address,name\n" + "".join(f"{address},Ada\n" for address in addresses)).encode()


def saving(**changes):
    """An audience to be saved, as an event."""
    return event_of({"kind": "audience", "id": "members", "s3": URI} | changes, kind="audience")


def dropping(audience="members"):
    return event_of({"kind": "audience", "id": audience, "action": "drop"}, kind="audience")


def published(load_event, **changes):
    """The CSV campaign with changes, as an event."""
    body = json.loads(load_event("campaign/s3")["Records"][0]["body"])
    components = [{"type": "body", "parameters": [{"type": "text", "text": "{{name}}"}]}]
    template = body["template"] | {"components": components}
    return event_of(body | {"campaign": "letter", "template": template} | changes, kind="campaign")


@pytest.fixture
def members(campaign, aws):
    """``members(*addresses)`` saves an audience of them."""

    def save(*addresses, audience="members", uri=URI):
        aws.put(uri, lines(*addresses))
        assert not failed(campaign.run(saving(id=audience, s3=uri)))

    return save


@pytest.fixture
def told(world, clock):
    ports = {"reports": world.reports, "resends": None, "messages": None, "prices": None}
    return lambda audience="members": report({"audience": audience}, clock=clock, **ports)


def start(campaign, load_event, **changes):
    """Start a campaign without its template's check."""
    receives = changes.pop("receives", 1)
    return campaign.run(published(load_event, **changes), check="off", receives=receives)


def sent_to(world):
    return [row[0] for row in world.database.fetch("SELECT address FROM recipient ORDER BY seq")]


def rejected(world):
    return world.database.fetch("SELECT line, reason FROM rejected ORDER BY line")


def test_people_are_kept_once_under_every_way_to_write_them(members, world, told):
    members("+5531988887777", "+553188887777", "US.13491208655302741918", "nobody", "")

    assert world.database.fetch("SELECT match_key FROM audience_person ORDER BY 1") == [
        ("+5531988887777",),
        ("US.13491208655302741918",),
    ]
    answer = told()
    assert {name: answer[name] for name in ("state", "s3", "people", "repeated", "rejected")} == {
        "state": "saved",
        "s3": URI,
        "people": 2,
        "repeated": 1,
        "rejected": 2,
    }
    assert answer["rejected_lines"] == [
        {"line": 5, "reason": "has no + and country code, and is no user id"},
        {"line": 6, "reason": "is empty"},
    ]


def test_an_audience_of_ndjson_is_saved_too(campaign, told):
    campaign.run(saving(s3="s3://audiences/sample", format="ndjson"))

    assert (told()["state"], told()["people"] > 2) == ("saved", True)


def test_a_report_of_no_audience_says_so(told):
    assert told("nothing") == {"problem": "there is no audience nothing"}


def test_an_audience_published_twice_is_one(campaign, members, told):
    members(FIRST, SECOND)

    assert not failed(campaign.run(saving()))

    assert (told()["people"], told()["repeated"]) == (2, 0)


def test_the_same_audience_with_another_content_is_parked(campaign, members, aws):
    members(FIRST)

    campaign.run(saving(s3="s3://audiences/vaccination.csv"))

    assert reasons(aws) == ["audience members exists with another content"]


def test_a_file_that_was_replaced_is_not_saved_under_the_same_id(campaign, members, aws, told):
    members(FIRST)
    aws.put(URI, lines(FIRST, SECOND))

    campaign.run(saving())

    assert reasons(aws) == [f"s3: {URI} is not what it was: save it under another id"]
    assert told()["people"] == 1


def test_an_audience_without_its_file_is_parked_and_may_be_mended(campaign, members, aws, told):
    campaign.run(saving())

    assert reasons(aws) == [f"s3: {URI} does not exist or may not be read"]
    members(FIRST)
    assert told()["people"] == 1


def test_an_audience_that_is_longer_than_a_function_lives_goes_on_where_it_ended(
    campaign, aws, told, clock
):
    people = [f"+4477009{line:05d}" for line in range(LOAD_SEGMENT_ROWS + 5)]
    aws.put(URI, lines(*people, people[0], "nobody"))

    assert failed(campaign.run(saving(), seconds=30))
    assert (told()["state"], told()["people"]) == ("saving", LOAD_SEGMENT_ROWS)
    clock.advance(3600)
    assert not failed(campaign.run(saving()))

    answer = told()
    assert (answer["state"], answer["people"], answer["repeated"]) == ("saved", len(people), 1)
    assert (answer["lines"], answer["rejected"]) == (len(people) + 3, 1)


def test_a_saver_that_another_one_overtook_stops(campaign, world, aws, told):
    class Overtaken(Audiences):
        def lines(self, uri, *, etag, offset):
            world.database.fetch("UPDATE saved_audience SET loaded_lines = 9")
            return super().lines(uri, etag=etag, offset=offset)

    aws.put(URI, lines(FIRST))

    answer = campaign.run(saving(), audiences=Overtaken(aws.client("s3")))

    assert failed(answer)
    assert told()["people"] == 0


def test_a_campaign_is_sent_to_a_saved_audience(campaign, members, world, load_event):
    members(FIRST, SECOND)

    start(campaign, load_event, audience={"saved": "members"})

    assert sent_to(world) == [FIRST, SECOND]


def test_a_saved_audience_must_have_the_columns_of_the_template(campaign, aws, load_event, told):
    aws.put(URI, b"address\n+4915155000001\n")
    campaign.run(saving())

    start(campaign, load_event, audience={"saved": "members"})

    assert reasons(aws) == ["audience: the header has no column name"]


def test_a_saved_audience_whose_file_was_replaced_is_not_sent_to(
    campaign, members, world, aws, load_event
):
    members(FIRST)
    aws.put(URI, lines(FIRST, SECOND))

    start(campaign, load_event, audience={"saved": "members"})

    assert reasons(aws) == [f"audience.saved: {URI} is not what it was when it was saved"]
    assert world.database.fetch("SELECT count(*) FROM campaign") == [(0,)]


NAMES = {
    "audience.saved": {"audience": {"saved": "members"}},
    "exclude.0.saved": {"exclude": [{"saved": "members"}]},
}


@pytest.mark.parametrize("path", NAMES)
@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("absent", "there is no audience members"),
        ("saving", "audience members is not saved yet"),
        ("dropped", "audience members was dropped"),
    ],
)
def test_a_campaign_waits_a_minute_for_what_it_names_and_is_parked_then(
    campaign, members, world, aws, load_event, path, state, reason
):
    if state != "absent":
        members(FIRST)
        column = "dropped_at = now()" if state == "dropped" else "finished_at = NULL"
        world.database.fetch(f"UPDATE saved_audience SET {column}")

    assert failed(start(campaign, load_event, receives=4, **NAMES[path]))
    assert not failed(start(campaign, load_event, receives=5, **NAMES[path]))

    assert reasons(aws) == [f"{path}: {reason}"]
    assert world.database.fetch("SELECT count(*) FROM campaign") == [(0,)]


def test_a_campaign_that_excludes_an_unknown_campaign_is_parked(campaign, aws, load_event):
    start(campaign, load_event, exclude=[{"campaign": "nothing"}], receives=5)

    assert reasons(aws) == ["exclude.0.campaign: there is no campaign nothing"]


def test_who_is_in_an_excluded_audience_gets_nothing_and_the_report_says_why(
    campaign, members, world, aws, load_event
):
    members(SECOND, "+553188887777")
    aws.put("s3://audiences/vaccination.csv", lines(FIRST, SECOND, "+5531988887777", SECOND))

    start(campaign, load_event, exclude=[{"saved": "members"}])

    assert sent_to(world) == [FIRST]
    why = "excluded: saved audience members"
    assert rejected(world) == [(3, why), (4, why), (5, why)]
    assert world.counters_equal_rows()


def test_the_first_list_that_names_a_person_is_told(campaign, members, world, aws, load_event):
    members(FIRST, SECOND, audience="one", uri="s3://audiences/one.csv")
    members(SECOND, THIRD, audience="two", uri="s3://audiences/two.csv")
    aws.put("s3://audiences/vaccination.csv", lines(FIRST, SECOND, THIRD))

    start(campaign, load_event, exclude=[{"saved": "two"}, {"saved": "one"}])

    assert [reason for _, reason in rejected(world)] == [
        "excluded: saved audience one",
        "excluded: saved audience two",
        "excluded: saved audience two",
    ]


def test_an_excluded_audience_that_is_dropped_while_the_campaign_loads_stops_it(
    campaign, members, world, aws, load_event
):
    members(SECOND)
    aws.put("s3://audiences/vaccination.csv", lines(FIRST, SECOND))
    original = world.loads

    class Dropped:
        def store(self, *args, **kwargs):
            campaign.run(dropping())
            return original.store(*args, **kwargs)

        seal = original.seal

    world.loads = Dropped()

    start(campaign, load_event, exclude=[{"saved": "members"}])

    assert reasons(aws) == ["exclude: audience members is gone"]
    assert world.database.fetch("SELECT state, reason, loaded_at FROM campaign") == [
        ("paused", "exclude: audience members is gone", None)
    ]


def test_a_saved_audience_that_is_dropped_while_the_campaign_loads_stops_it(
    campaign, members, world, aws, load_event, monkeypatch
):
    monkeypatch.setattr("sluice.steps.campaign.segments.LOAD_SEGMENT_ROWS", 1)
    members(FIRST, SECOND)
    event = published(load_event, audience={"saved": "members"})
    assert failed(campaign.run(event, check="off", seconds=0))

    campaign.run(dropping())
    campaign.run(event, check="off")

    reason = "audience.saved: audience members was dropped"
    assert reasons(aws) == [reason]
    assert world.database.fetch("SELECT state, reason, loaded_at FROM campaign") == [
        ("paused", reason, None)
    ]


def test_a_dropped_audience_keeps_nobody_and_its_id(campaign, members, world, aws, told):
    members(FIRST, "nobody")

    for _ in range(2):
        assert not failed(campaign.run(dropping()))
    campaign.run(saving())

    assert told()["state"] == "dropped"
    for table in ("audience_person", "audience_rejected"):
        assert world.database.fetch(f"SELECT count(*) FROM {table}") == [(0,)]
    assert reasons(aws) == ["audience members was dropped: its id is not used again"]


def test_a_drop_is_done_in_batches_and_goes_on_where_it_ended(
    campaign, members, world, told, monkeypatch
):
    monkeypatch.setattr(saved_audiences, "FORGET_BATCH_ROWS", 2)
    members(FIRST, SECOND, THIRD)

    assert failed(campaign.run(dropping(), seconds=0))
    assert told()["state"] == "dropped"
    assert world.database.fetch("SELECT count(*) FROM audience_person") == [(1,)]
    assert not failed(campaign.run(dropping()))

    assert world.database.fetch("SELECT count(*) FROM audience_person") == [(0,)]


def test_a_drop_waits_a_minute_for_an_audience_that_it_overtook(campaign, aws):
    assert failed(campaign.run(dropping(), receives=4))
    assert not failed(campaign.run(dropping(), receives=5))

    assert reasons(aws) == ["there is no audience members"]


def test_who_saved_and_who_dropped_is_noted_once(campaign, members, world, aws):
    members(FIRST)
    for event in (saving(), dropping(), dropping(), saving()):
        campaign.run(event)

    rows = world.database.fetch("SELECT action, subject, details FROM audit ORDER BY audit_id")
    assert rows[:2] == [
        ("save", "audience members", {"s3": URI}),
        ("drop", "audience members", {}),
    ]
    assert [(action, subject) for action, subject, _ in rows[2:]] == [
        ("refused", "audience members")
    ]

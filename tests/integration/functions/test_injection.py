"""Texts that would like to be SQL, JSON, a formula, a path or a line of a log."""

import csv as csv_files
import io
import json

import pytest

from functions.report.handler import handle as ask
from sluice.domain.delivery import OpaqueId
from sluice.domain.requests import parse
from tests.conftest import NUMBER
from tests.integration.functions.ports import event_of, parked, reasons
from tests.integration.roads import send

ALL_SQL = [
    "'; DROP TABLE delivery; --",
    "' OR '1'='1",
    "$1 %s %(now)s %%",
    '"; DROP TABLE recipient; --',
    "$$; DELETE FROM campaign; $$",
    "\\'; SELECT pg_sleep(9); --",
    "\\.",
    "\\N",
    "{0} {campaign}",
]
"""Each as one text, in every place that takes any text."""
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"


def campaign_of(text, **changes):
    """A campaign with the text in each field that takes any."""
    parameter = {"type": "text", "text": "{{" + text.replace("{", "(").replace("}", ")") + "}}"}
    column = parameter["text"][2:-2].strip()
    return {
        "campaign": "injected",
        "template": {
            "name": "vaccination_reminder",
            "language": "en_US",
            "components": [{"type": "body", "parameters": [parameter]}],
        },
        "numbers": [NUMBER],
        "audience": {"recipients": [{"address": "+4915155000001", "parameters": {column: text}}]},
        "split": {"key": text, "holdout": 0.000001},
        **changes,
    }


@pytest.mark.parametrize("text", ALL_SQL)
def test_sql_in_any_text_of_a_campaign_is_only_text(campaign, world, serve, text):
    tables = world.database.fetch(TABLES)

    campaign.run(event_of(campaign_of(text), kind="campaign"), check="off")

    query = (
        "SELECT r.parameters, c.request FROM recipient AS r JOIN campaign AS c USING (campaign_id)"
    )
    ((parameters, stored),) = world.database.fetch(query)
    assert list(parameters.values()) == [text]
    assert stored["split"]["key"] == text
    server = serve(lambda *_: None)
    send(world, server.url, 1)
    sent = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert sent["template"]["components"][0]["parameters"] == [{"type": "text", "text": text}]
    assert world.database.fetch(TABLES) == tables
    assert world.counters_equal_rows()


@pytest.mark.parametrize("text", ALL_SQL)
def test_sql_in_orders_lists_and_questions_is_only_text(campaign, command, world, clock, text):
    world.campaign()
    tables = world.database.fetch(TABLES)

    command.run(
        event_of({"action": "pause", "campaign": "reminder", "reason": text}, kind="command")
    )
    people = {"action": "suppress", "scope": "all", "id": "l", "recipients": ["+4915155000002"]}
    campaign.run(event_of({**people, "reason": text}, kind="suppressions"))
    questions = [
        {name: text}
        for name in ("campaign", "suppressions", "audience", "schedule", "test", "erase")
    ]
    questions += [{"audit": {name: text}} for name in ("campaign", "number", "schedule")]
    told = [
        ask(
            one,
            reports=world.reports,
            resends=world.resends,
            messages=None,
            prices=None,
            clock=clock,
        )
        for one in questions
    ]

    assert world.database.fetch("SELECT reason FROM campaign") == [(text,)]
    assert [one.reason for one in world.in_force()] == [text]
    assert all("problem" in one or not one.get("audit") for one in told)
    assert world.database.fetch(TABLES) == tables


HARD_NAMES = [*ALL_SQL, "a\nb", "../up", "a/b", "é", "a b", "", "x" * 129, "=1", "a\0"]
NAMED = {
    "campaign": [campaign_of("name"), "campaign"],
    "command": [{"action": "cancel"}, "campaign"],
    "export": [{"campaign": "a"}, "id"],
    "erase": [{"campaign": "a"}, "id"],
    "audience": [{"s3": "s3://people/a.csv"}, "id"],
    "suppressions": [{"action": "lift", "scope": "all", "recipients": ["+4915155000001"]}, "id"],
    "send": [
        {
            "phone_number_id": NUMBER,
            "recipients": [{"address": "+4915155000001"}],
            "message": {"type": "text", "text": {"body": "Hi"}},
        },
        "id",
    ],
}


@pytest.mark.parametrize("kind", NAMED)
def test_an_id_is_a_plain_name_and_is_refused_otherwise(kind):
    content, field = NAMED[kind]
    assert not isinstance(parse(json.dumps({**content, field: "a.b:c-d_1"}), {"kind": kind}), list)

    for name in HARD_NAMES:
        problems = parse(json.dumps({**content, field: name}), {"kind": kind})
        assert isinstance(problems, list), name
        assert "\n" not in " ".join(map(str, problems))


@pytest.mark.parametrize(
    "place",
    [
        "s3://exports/a\n/",
        "s3://exports/a/\n",
        "s3://UP/a/",
        "s3://a/../b",
        "s3:///etc/",
        "s3://b@evil/x/",
        "s3://bucket?x=/",
        "https://exports/",
        "file:///tmp/",
        "s3://exports/no-slash",
    ],
)
def test_a_place_that_is_no_bucket_and_prefix_is_refused(place):
    assert isinstance(parse(json.dumps({"campaign": "a", "to": place}), {"kind": "export"}), list)


def test_dots_in_a_place_are_part_of_the_key_and_climb_nowhere(export, world, aws):
    world.campaign(1, name="dots")
    aws.client("s3").create_bucket(Bucket="other")

    export.run(event_of({"campaign": "dots", "to": "s3://other/../../exports/x/"}, kind="export"))

    client = aws.client("s3")
    assert "Contents" not in client.list_objects_v2(Bucket="exports")
    keys = [one["Key"] for one in client.list_objects_v2(Bucket="other")["Contents"]]
    assert all(key.startswith("../../exports/x/") for key in keys)


BREAKOUTS = [
    '"}], "to": "+4915155999999',
    '\\"',
    "\\",
    "{{name}}",
    "{{other}}",
    "a\u2028b",
    "</script>",
    "é🎉",
]


@pytest.mark.parametrize("text", BREAKOUTS)
def test_a_parameter_stays_in_its_place_of_the_request(world, serve, text):
    campaign_id = world.campaign(1)
    world.database.fetch("UPDATE recipient SET parameters = %s", (json.dumps({"name": text}),))
    server = serve(lambda *_: None)

    send(world, server.url, campaign_id)

    sent = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert sent["to"] == "+4915155000001"
    assert sent["template"]["components"][0]["parameters"] == [{"type": "text", "text": text}]
    assert OpaqueId.parse(sent["biz_opaque_callback_data"])


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\uff1d1", "'quoted", "plain"]


def test_an_exported_suppression_runs_in_no_spreadsheet_and_is_imported_as_it_was(
    campaign, world, aws
):
    lines = [f'+49151550000{place:02},"{text}"' for place, text in enumerate(FORMULAS)]
    aws.put("s3://audiences/reasons.csv", "\n".join(["address,reason", *lines]).encode())
    base = {"action": "suppress", "scope": "all"}
    campaign.run(
        event_of({**base, "id": "in", "s3": "s3://audiences/reasons.csv"}, kind="suppressions")
    )
    before = world.in_force()
    place = "s3://audiences/suppressions/out.csv"

    campaign.run(event_of({"action": "export", "id": "out", "s3": place}, kind="suppressions"))

    content = (
        aws.client("s3").get_object(Bucket="audiences", Key="suppressions/out.csv")["Body"].read()
    )
    rows = list(csv_files.DictReader(io.StringIO(content.decode())))
    assert sorted(one.reason for one in before) == sorted(FORMULAS)
    assert all(row["reason"][0] in "'p" for row in rows)
    world.database.fetch("DELETE FROM suppression")
    campaign.run(event_of({**base, "id": "again", "s3": place}, kind="suppressions"))
    assert [(one.match_key, one.reason) for one in world.in_force()] == [
        (one.match_key, one.reason) for one in before
    ]
    assert not parked(aws)


def test_a_line_end_in_a_refused_request_makes_no_line_of_a_log(campaign, aws):
    request = campaign_of("name") | {'x\n{"level":"ERROR","message":"all lost"}': 1}

    campaign.run(event_of(request, kind="campaign"))

    assert reasons(aws)
    assert all(reason.isprintable() for reason in reasons(aws))
    assert "all lost" not in " ".join(reasons(aws))

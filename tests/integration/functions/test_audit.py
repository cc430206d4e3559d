"""Who ordered what, noted by the functions that carry it out."""

import json

import pytest

from functions.report.handler import handle as report
from tests.conftest import NUMBER, SetClock
from tests.integration.functions.ports import event_of, failed, parked, samples

CAMPAIGN = "vaccination-2026-12"
PAUSE = {"kind": "command", "action": "pause", "campaign": CAMPAIGN}
SNS = "AIDAIENQZJOLO23YVJ4VO"


def enveloped(body, *, message_id="sns-1", at="2026-12-01T08:00:00.000Z", **attributes):
    """What the topic makes of a message."""
    attributes = {"kind": body["kind"], **attributes}
    return {
        "Type": "Notification",
        "MessageId": message_id,
        "TopicArn": "arn:aws:sns:eu-central-1:123456789012:sluice-example-campaign-requests",
        "Message": json.dumps(body),
        "Timestamp": at,
        "MessageAttributes": {
            name: {"Type": "String", "Value": value} for name, value in attributes.items()
        },
    }


def sent_by(event, sender):
    for record in event["Records"]:
        record["attributes"]["SenderId"] = sender
    return event


def answer(world, asked):
    """The report's."""
    ports = {"reports": world.reports, "resends": None, "messages": None, "prices": None}
    return report({"audit": asked}, clock=SetClock(), **ports)


def told(world, asked):
    """The rows of the report, the oldest first."""
    return list(reversed(answer(world, asked)["audit"]))


def ordered(world, asked="newest"):
    return [row for row in told(world, asked) if row["via"] != "engine"]


@pytest.fixture
def loaded(campaign, world, load_event):
    campaign.run(load_event("campaign/inline"))
    return world


def test_an_order_that_came_by_the_topic_has_the_id_of_its_publication_and_who_it_declares(
    loaded, command
):
    event = sent_by(event_of(enveloped(PAUSE, by="ada@clinic")), SNS)

    assert not failed(command.run(event))

    row = ordered(loaded, {"campaign": CAMPAIGN})[-1]
    assert (row["actor"], row["via"], row["action"]) == ("ada@clinic", "declared", "pause")
    assert (row["message_id"], row["subject"]) == ("sns-1", f"campaign {CAMPAIGN}")
    assert row["at"]


def test_of_an_order_that_declares_nobody_nobody_is_told(loaded, command):
    command.run(sent_by(event_of(enveloped(PAUSE)), SNS))

    row = ordered(loaded)[-1]
    assert (row["actor"], row["via"]) == (None, "topic")


def test_an_order_that_was_sent_to_the_queue_has_its_principal(loaded, command):
    command.run(sent_by(event_of(PAUSE, by="somebody else"), "AROAEXAMPLE:ada"))

    row = ordered(loaded)[-1]
    assert (row["actor"], row["via"], row["message_id"]) == (
        "AROAEXAMPLE:ada",
        "principal",
        "message-0",
    )


def test_a_message_that_sns_delivers_twice_is_noted_and_carried_out_once(loaded, command):
    twice = event_of(enveloped(PAUSE), enveloped(PAUSE))
    resume = {**PAUSE, "action": "resume"}

    command.run(twice)
    command.run(event_of(enveloped(resume, message_id="sns-2")))
    command.run(twice)

    assert [row["action"] for row in ordered(loaded)[1:]] == ["pause", "resume"]
    assert loaded.database.fetch("SELECT state FROM campaign") == [("running",)]


def test_an_order_that_failed_and_comes_back_does_not_undo_a_newer_one(loaded, command):
    resume = {**PAUSE, "action": "resume"}

    command.run(event_of(enveloped(resume, message_id="sns-2", at="2026-12-01T08:00:00.500Z")))
    command.run(event_of(enveloped(PAUSE)))

    assert loaded.database.fetch("SELECT state FROM campaign") == [("running",)]
    assert ordered(loaded)[-1]["details"] == {"overtaken_by": "sns-2"}


@pytest.mark.parametrize(
    ("body", "subject", "reason"),
    [
        ({**PAUSE, "action": "cancel"}, f"campaign {CAMPAIGN}", f"there is no campaign {CAMPAIGN}"),
        (
            {"kind": "command", "action": "jump", "phone_number_id": NUMBER},
            f"number {NUMBER}",
            "action: is none of",
        ),
    ],
)
def test_what_is_refused_is_noted_once_with_its_reason_and_parked_as_it_was_published(
    command, world, aws, body, subject, reason
):
    event = event_of(enveloped(body, by="ada"))

    command.run(event, receives=5)
    command.run(event, receives=5)

    (row,) = told(world, "newest")
    assert (row["actor"], row["action"], row["subject"]) == ("ada", "refused", subject)
    assert row["details"]["step"] == "command"
    assert row["details"]["reasons"][0].startswith(reason)
    kept = parked(aws)[0]
    assert json.loads(kept["body"]) == body
    assert kept["attributes"] == {"kind": "command", "by": "ada"}


def test_a_campaign_is_noted_with_its_publisher_and_its_size(campaign, world, load_event):
    body = json.loads(load_event("campaign/inline")["Records"][0]["body"])
    event = event_of(enveloped(body, by="ada"))

    campaign.run(event)
    campaign.run(event)

    created, loaded = told(world, {"campaign": CAMPAIGN})
    assert (created["actor"], created["action"], created["message_id"]) == (
        "ada",
        "create",
        "sns-1",
    )
    assert created["details"]["numbers"] == len(body["numbers"])
    assert (loaded["action"], loaded["details"]["people"]) == (
        "loaded",
        len(body["audience"]["recipients"]),
    )


def test_a_test_is_noted_before_it_is_sent(loaded, command, load_event, aws):
    body = json.loads(load_event("command/test")["Records"][0]["body"])
    event = event_of(enveloped(body))

    command.run(event)
    command.run(event)

    row = ordered(loaded)[-1]
    assert (row["action"], row["subject"]) == ("test", f"campaign {CAMPAIGN}")
    assert row["details"]["people"] == len(body["recipients"])
    assert len([one for one in ordered(loaded) if one["action"] == "test"]) == 1


@pytest.mark.parametrize("action", ["return", "discard"])
def test_what_becomes_of_parked_messages_is_noted(world, command, action):
    command.run(event_of(enveloped({"kind": "command", "action": action, "parked": "all"})))

    (row,) = ordered(world)
    assert (row["action"], row["subject"]) == (action, "parked all")


def test_an_export_is_noted_with_where_it_went(loaded, export):
    event = event_of(enveloped({"kind": "export", "campaign": CAMPAIGN}, by="ada"))

    export.run(event)
    export.run(event)

    (row,) = [row for row in ordered(loaded) if row["action"] == "export"]
    assert (row["actor"], row["subject"]) == ("ada", f"campaign {CAMPAIGN}")
    assert row["details"]["to"] == f"s3://exports/{CAMPAIGN}/"


def test_a_list_of_suppressions_is_noted_and_how_many_it_names(campaign, world, load_event):
    body = json.loads(load_event("campaign/suppress")["Records"][0]["body"])
    event = event_of(enveloped(body, by="ada"))

    campaign.run(event)
    campaign.run(event)

    published, finished = told(world, "newest")
    assert (published["actor"], published["action"]) == ("ada", "suppress")
    assert published["subject"] == finished["subject"] == f"suppressions {body['id']}"
    assert (finished["action"], finished["details"]) == (
        "suppressions finished",
        {"people": 3, "rejected": 0},
    )


def test_no_address_and_no_parameter_is_ever_noted(campaign, command, export, world, load_event):
    people = set()
    for step, function in (("campaign", campaign), ("command", command), ("export", export)):
        for sample in samples(step):
            event = load_event(f"{step}/{sample}")
            function.run(event, receives=9)
            for record in event["Records"]:
                people |= set(persons(record["body"]))
    noted = json.dumps(world.reports.audit(None, limit=1000), default=str)

    assert len(people) > 5
    assert [text for text in people if len(text) > 2 and text in noted] == []


def persons(body):
    """Every address and every parameter of a request."""
    try:
        document = json.loads(body)
    except ValueError:
        return
    audience = document.get("audience")
    inline = audience.get("recipients", []) if isinstance(audience, dict) else []
    for person in [*inline, *document.get("recipients", [])]:
        if isinstance(person, str):
            yield person
        elif isinstance(person, dict):
            yield str(person.get("address"))
            yield from map(str, person.get("parameters", {}).values())


@pytest.mark.parametrize("asked", [True, {}, {"campaign": 1}, {"campaign": "a", "number": "b"}])
def test_a_question_about_anything_else_is_told_what_may_be_asked(world, asked):
    assert "audit" in answer(world, asked)["problem"]

"""Who sent a message, as far as anybody can know, and what a refused one is about."""

import json
from datetime import UTC, datetime

import pytest

from sluice.domain.audit import BY_CHARACTERS_MAX, Origin, origin_of, subject_of
from sluice.domain.notification import published_of

ENVELOPE = {
    "Type": "Notification",
    "MessageId": "5f1c6ad0-0001",
    "TopicArn": "arn:aws:sns:eu-central-1:123456789012:sluice-example-campaign-requests",
    "Message": '{"kind": "command"}',
    "MessageAttributes": {
        "kind": {"Type": "String", "Value": "command"},
        "by": {"Type": "String", "Value": "ada"},
    },
}


def origin(*, sender="AROAEXAMPLE:ada", by_topic=True, **attributes):
    return origin_of(attributes, message_id="1", sender=sender, by_topic=by_topic)


@pytest.mark.parametrize(
    ("known", "actor", "via"),
    [
        (origin(by="ada"), "ada", "declared"),
        (origin(), None, "topic"),
        (origin(by=""), None, "topic"),
        (origin(by="a" * 500), "a" * BY_CHARACTERS_MAX, "declared"),
        (origin(by_topic=False), "AROAEXAMPLE:ada", "principal"),
        (origin(by_topic=False, by="somebody else"), "AROAEXAMPLE:ada", "principal"),
        (origin(by_topic=False, sender=None), None, "principal"),
    ],
)
def test_an_actor_is_who_sqs_names_else_who_the_message_declares(known, actor, via):
    assert known == Origin(actor, via, "1")


@pytest.mark.parametrize(
    ("timestamp", "at"),
    [
        ("2026-12-01T08:00:00.250Z", datetime(2026, 12, 1, 8, 0, 0, 250_000, UTC)),
        ("2026-12-01T08:00:00", None),
        ("yesterday", None),
        (None, None),
        (12, None),
    ],
)
def test_the_topic_tells_when_a_message_was_published(timestamp, at):
    assert published_of(json.dumps({**ENVELOPE, "Timestamp": timestamp}), {}).at == at


@pytest.mark.parametrize(
    ("body", "subject"),
    [
        ('{"campaign": "spring"}', "campaign spring"),
        ('{"campaign": "spring", "id": "export"}', "campaign spring"),
        ('{"phone_number_id": "106540352242922"}', "number 106540352242922"),
        ('{"id": "stopped"}', "suppressions stopped"),
        ('{"id": "weekly", "kind": "schedule", "campaign": {}}', "schedule weekly"),
        ('{"campaign": "+1 202 555 0101"}', ""),
        ('{"campaign": 1}', ""),
        ("[]", ""),
        ("\ud800", ""),
    ],
)
def test_a_refused_request_is_about_what_it_names(body, subject):
    assert subject_of(body) == subject


def test_an_envelope_gives_the_message_its_attributes_and_the_id_of_its_publication():
    published = published_of(json.dumps(ENVELOPE), {"redrives": "2"})

    assert published.body == ENVELOPE["Message"]
    assert published.attributes == {"kind": "command", "by": "ada", "redrives": "2"}
    assert published.message_id == "5f1c6ad0-0001"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '{"kind": "command"}',
        json.dumps({**ENVELOPE, "Message": {}}),
        json.dumps({**ENVELOPE, "MessageId": None}),
        json.dumps({**ENVELOPE, "Type": "SubscriptionConfirmation"}),
    ],
)
def test_what_is_no_envelope_is_taken_as_it_is(body):
    published = published_of(body, {"kind": "command"})

    assert (published.body, published.attributes, published.message_id) == (
        body,
        {"kind": "command"},
        None,
    )


@pytest.mark.parametrize("attributes", [None, [], {"kind": "command"}, {"kind": {"Value": 1}}])
def test_attributes_that_cannot_be_read_are_none(attributes):
    assert (
        published_of(json.dumps({**ENVELOPE, "MessageAttributes": attributes}), {}).attributes == {}
    )

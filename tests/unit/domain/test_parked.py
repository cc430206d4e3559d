"""The envelope of a parked message, and where the message belongs."""

import json

import pytest

from sluice.domain.letter import Letter
from sluice.domain.parked import Destination, destination_of, envelope, fresh_attributes, opened

SEND = {"kind": "send", "lane": "bulk"}


def parked(step="send", *, body="body", attributes=SEND, **changes):
    kept = envelope(step=step, reasons=["why"], body=body, attributes=attributes) | changes
    return opened(Letter("handle", json.dumps(kept), {}, message_id="of SQS"))


def test_what_is_put_into_an_envelope_comes_out_of_it():
    one = parked(body="é\ud83c", attributes=SEND)

    assert (one.step, one.reasons, one.body) == ("send", ("why",), "é\ud83c")
    assert (one.attributes, one.truncated) == (SEND, False)


@pytest.mark.parametrize(
    ("step", "destination"),
    [
        ("campaign", Destination.TOPIC),
        ("command", Destination.TOPIC),
        ("schedule", Destination.TOPIC),
        ("export", Destination.TOPIC),
        ("erase", Destination.TOPIC),
        ("send", Destination.TOPIC),
        ("send-106540352242922-bulk", Destination.TOPIC),
        ("status", Destination.STATUSES),
        ("statuses", Destination.STATUSES),
        ("signal", Destination.SIGNALS),
        ("signals", Destination.SIGNALS),
    ],
)
def test_a_message_belongs_to_where_its_step_gets_them_from(step, destination):
    assert destination_of(parked(step)) is destination


@pytest.mark.parametrize(
    "changes",
    [
        {"body": "x" * 20_001},
        {"attributes": {**SEND, "note": "x" * 257}},
        {"attributes": {**SEND, **{str(place): "x" for place in range(9)}}},
    ],
    ids=["body", "attribute", "attributes"],
)
def test_a_message_of_which_something_was_cut_cannot_be_returned(changes):
    assert destination_of(parked(**changes)) == "it was cut: publish it again from your own copy"


@pytest.mark.parametrize("attributes", [{}, {"kind": ""}, {"lane": "bulk"}])
def test_the_topic_would_drop_what_has_no_kind(attributes):
    assert destination_of(parked(attributes=attributes)) == "it has no message attribute kind"


@pytest.mark.parametrize("text", ["", "by hand", "[]", '{"body": 1}', '{"step": "send"}', "\ud83c"])
def test_what_is_no_envelope_is_told_as_it_is(text):
    one = opened(Letter("handle", text, {}, message_id="of SQS"))

    assert (one.id, one.body) == ("of SQS", text)
    assert isinstance(destination_of(one), str)


def test_an_envelope_of_before_there_were_ids_is_known_by_the_id_of_sqs():
    assert parked(id=None).id == "of SQS"


def test_an_approval_never_goes_to_the_topic_because_who_sent_it_counts():
    why = destination_of(parked("approve", attributes={"kind": "command"}))

    assert why == "who sent it counts: its approver must send it again"


def test_what_scheduler_sent_returns_with_the_kind_that_the_topic_needs():
    assert fresh_attributes(parked("schedule", attributes={})) == {"kind": "schedule"}


def test_a_returned_message_has_all_its_redrives_before_it():
    assert fresh_attributes(parked(attributes={**SEND, "redrives": "5"})) == SEND

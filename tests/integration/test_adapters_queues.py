"""Queues and topic: a batch goes out whole, or the call raises."""

import json
from types import SimpleNamespace

import pytest

from sluice.adapters.queues import NotTakenError, Parking, Queue, Topic
from sluice.domain.letter import Message
from sluice.domain.limits import SQS_MESSAGE_BYTES_MAX
from sluice.domain.topup import PickedChunk
from tests.conftest import NUMBER


class Scripted:
    """A client that takes batches, but for what ``refusals`` says of each call."""

    def __init__(self, *refusals):
        self.refusals = list(refusals)
        self.calls = []

    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803 - AWS names them
        assert QueueUrl == "url"
        return self._take(Entries)

    def publish_batch(self, *, TopicArn, PublishBatchRequestEntries):  # noqa: N803 - as above
        assert TopicArn == "arn"
        return self._take(PublishBatchRequestEntries)

    def _take(self, entries):
        self.calls.append(entries)
        refused = self.refusals.pop(0) if self.refusals else set()
        failed = [{"Id": e["Id"], "Code": "Busy"} for e in entries if e["Id"] in refused]
        return {"Failed": failed} if failed else {}


def sizes(client):
    return [len(entries) for entries in client.calls]


@pytest.fixture(params=["queue", "topic"])
def sender(request):
    """Makes what sends to a scripted client: a queue, or the topic."""

    def make(*refusals):
        client = Scripted(*refusals)
        if request.param == "queue":
            send = Queue(client, url="url").send
        else:
            send = Topic(client, arn="arn").publish
        return SimpleNamespace(client=client, send=send)

    return make


def test_a_batch_has_at_most_ten_entries(sender):
    one = sender()

    one.send([Message(str(number)) for number in range(23)])

    assert sizes(one.client) == [10, 10, 3]


def test_a_batch_is_together_no_larger_than_one_message_may_be(sender):
    one = sender()
    quarter = "x" * (SQS_MESSAGE_BYTES_MAX // 4)

    one.send([Message(quarter) for _ in range(9)])

    assert sizes(one.client) == [4, 4, 1]


def test_the_size_counts_bytes_and_attributes(sender):
    one = sender()
    half = "é" * (SQS_MESSAGE_BYTES_MAX // 4)

    one.send([Message(half, {"kind": "send"}), Message(half)])

    assert sizes(one.client) == [1, 1]


def test_nothing_to_send_calls_nobody(sender):
    one = sender()

    one.send([])

    assert one.client.calls == []


def test_only_what_was_not_taken_is_sent_again(sender):
    one = sender({"1", "2"}, {"2"})

    one.send([Message(str(number)) for number in range(4)])

    assert [[entry["Id"] for entry in call] for call in one.client.calls] == [
        ["0", "1", "2", "3"],
        ["1", "2"],
        ["2"],
    ]


def test_what_is_not_taken_three_times_raises(sender):
    one = sender({"1"}, {"1"}, {"1"})

    with pytest.raises(NotTakenError, match="1 entries were not taken: Busy"):
        one.send([Message("a"), Message("b")])

    assert sizes(one.client) == [2, 1, 1]


def test_a_message_arrives_with_its_attributes(aws):
    aws.queue("work").send([Message("body", {"kind": "send"})])

    (letter,) = aws.queue("work").receive(limit=10, visibility_seconds=5)
    assert (letter.body, letter.attributes, letter.group) == ("body", {"kind": "send"}, None)


def test_a_fifo_message_arrives_in_its_group_and_once(aws):
    message = Message("body", group="5", deduplication="same")
    aws.queue("work.fifo").send([message])
    aws.queue("work.fifo").send([message])

    (letter,) = aws.letters("work.fifo")
    assert letter.group == "5"


def test_chunks_reach_the_queue_of_their_number_by_their_attributes(aws):
    sns = aws.client("sns")
    arn = sns.create_topic(Name="campaign-requests")["TopicArn"]
    for number in (NUMBER, "other"):
        queue = f"send-{number}"
        attributes = aws.sqs.get_queue_attributes(
            QueueUrl=aws.url(queue), AttributeNames=["QueueArn"]
        )
        policy = {"kind": ["send"], "phone_number_id": [number], "lane": ["bulk"]}
        sns.subscribe(
            TopicArn=arn,
            Protocol="sqs",
            Endpoint=attributes["Attributes"]["QueueArn"],
            Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps(policy)},
        )
    chunks = [PickedChunk(seq, 7, NUMBER, "bulk", (seq,)) for seq in range(12)]

    Topic(sns, arn=arn).publish_chunks(chunks)

    letters = aws.letters(f"send-{NUMBER}")
    assert sorted(json.loads(letter.body)["seqs"] for letter in letters) == [[n] for n in range(12)]
    assert aws.letters("send-other") == []


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ("x" * SQS_MESSAGE_BYTES_MAX, ["no"]),
        ("🎉" * (SQS_MESSAGE_BYTES_MAX // 4), ["no"]),
        ("\x01" * SQS_MESSAGE_BYTES_MAX, ["no"]),
        ("short", [f"{'🎉' * 20_000}: Extra inputs are not permitted"] * 30),
    ],
    ids=["ascii", "emoji", "escapes", "long_reasons"],
)
def test_whatever_is_parked_fits_into_a_message(body, reasons):
    client = Scripted()
    parking = Parking(Queue(client, url="url"))

    parking.park(step="send", reasons=reasons, body=body, attributes={"kind": "send"})

    ((entry,),) = client.calls
    envelope = json.loads(entry["MessageBody"])
    assert len(entry["MessageBody"].encode()) <= SQS_MESSAGE_BYTES_MAX
    assert envelope["truncated"] == (body != "short")
    assert body.startswith(envelope["body"])

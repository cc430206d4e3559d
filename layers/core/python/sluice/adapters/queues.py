"""SNS and SQS: a batch goes out whole, or the call raises."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sluice.domain.audit import BY
from sluice.domain.inbound import Answered, Inbound, attributes_of, notice_of
from sluice.domain.letter import REDRIVES, Letter, Message
from sluice.domain.limits import (
    REDRIVE_TIMEOUT_SECONDS,
    SQS_BATCH_ENTRIES_MAX,
    SQS_MESSAGE_BYTES_MAX,
    STATUS_GROUPS,
)
from sluice.domain.notification import published_of
from sluice.domain.packing import deduplication_id, to_json
from sluice.domain.parked import envelope
from sluice.domain.topup import PickedChunk

_TRIES = 3
_FIFO_SUFFIX = ".fifo"
"""How the name of a FIFO queue ends, and of no other: AWS holds everybody to it."""


class NotTakenError(RuntimeError):
    """AWS did not take some entries of a batch, three times over."""


class Topic:
    """An SNS topic."""

    def __init__(self, client: Any, *, arn: str) -> None:
        self._client = client
        self._arn = arn

    def publish(self, messages: Sequence[Message]) -> None:
        """Publish in batches. Raises NotTakenError; what was taken before stays published."""

        def call(entries: list[dict[str, Any]]) -> Mapping[str, Any]:
            answer: Mapping[str, Any] = self._client.publish_batch(
                TopicArn=self._arn, PublishBatchRequestEntries=entries
            )
            return answer

        for entries in _batches(messages, _topic_entry):
            _send_all(entries, call)

    def publish_sends(self, sends: Sequence[Mapping[str, Any]]) -> None:
        """Publish messages of kind=send to the queues of their numbers."""
        names = ("kind", "phone_number_id", "lane")
        self.publish([Message(to_json(one), {name: one[name] for name in names}) for one in sends])

    def publish_campaign(self, request: Mapping[str, Any], *, by: str) -> None:
        """Publish a message of kind=campaign; ``by`` says who does."""
        self.publish([Message(to_json(request), {"kind": "campaign", BY: by})])

    def publish_chunks(self, chunks: Sequence[PickedChunk]) -> None:
        """Publish dispatch's chunks to the queues of their numbers."""
        self.publish([_chunk_message(chunk) for chunk in chunks])


class Subscribers:
    """Who hears what people say back: the subscriptions of the topic inbound-messages."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def tell(self, replies: Sequence[tuple[Inbound, Answered | None]], *, now: datetime) -> None:
        """Publish replies. Raises NotTakenError; what was taken before stays published."""
        self._topic.publish([
            Message(notice_of(*reply, now=now), attributes_of(*reply)) for reply in replies
        ])  # fmt: skip


class Queue:
    """One SQS queue."""

    def __init__(self, client: Any, *, url: str) -> None:
        self._client = client
        self._url = url

    @property
    def fifo(self) -> bool:
        """Whether it keeps the order of each group."""
        return self._url.endswith(_FIFO_SUFFIX)

    def send(self, messages: Sequence[Message]) -> None:
        """Send in batches. Raises NotTakenError; what was taken before stays sent."""

        def call(entries: list[dict[str, Any]]) -> Mapping[str, Any]:
            answer: Mapping[str, Any] = self._client.send_message_batch(
                QueueUrl=self._url, Entries=entries
            )
            return answer

        for entries in _batches(messages, _queue_entry):
            _send_all(entries, call)

    def receive(self, *, limit: int, visibility_seconds: int) -> list[Letter]:
        """Take messages, ten at most, hidden from others for so long."""
        answer = self._client.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=min(limit, SQS_BATCH_ENTRIES_MAX),
            VisibilityTimeout=visibility_seconds,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        )
        return [
            Letter(
                handle=message["ReceiptHandle"],
                body=message["Body"],
                attributes=_texts(message.get("MessageAttributes", {})),
                group=message.get("Attributes", {}).get("MessageGroupId"),
            )
            for message in answer.get("Messages", [])
        ]

    def delete(self, handle: str) -> None:
        """Delete a received message."""
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=handle)

    def show_again(self, handle: str, *, in_seconds: int) -> None:
        """Let a received message appear again earlier, or later, than its visibility says."""
        self._client.change_message_visibility(
            QueueUrl=self._url, ReceiptHandle=handle, VisibilityTimeout=in_seconds
        )


class Parking:
    """The queue of what no retry can help: kept with its reasons, counted, alarmed."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def park(
        self, *, step: str, reasons: Sequence[str], body: str, attributes: Mapping[str, str]
    ) -> None:
        """Keep a message. A body too large for its envelope is cut, and says so."""
        kept = envelope(step=step, reasons=reasons, body=body, attributes=attributes)
        self._queue.send([Message(json.dumps(kept))])


class WebhookOutbox:
    """The two queues behind the webhook."""

    def __init__(self, *, statuses: Queue, signals: Queue) -> None:
        self._statuses = statuses
        self._signals = signals

    @property
    def status_groups(self) -> int:
        """In how many groups the statuses of one webhook are told apart; 1: order is not kept."""
        return STATUS_GROUPS if self._statuses.fifo else 1

    def put_statuses(self, messages: Sequence[tuple[int, str]]) -> None:
        """Queue (group, body) messages.

        A FIFO queue drops Meta's repetitions of a body for 5 minutes; a standard one has no groups,
        and takes them all.
        """
        if not self._statuses.fifo:
            self._statuses.send([Message(body) for _, body in messages])
            return
        self._statuses.send([
            Message(body, group=str(group), deduplication=deduplication_id(body))
            for group, body in messages
        ])  # fmt: skip

    def put_signals(self, messages: Sequence[str]) -> None:
        """Queue messages of signals."""
        self._signals.send([Message(body) for body in messages])


class Route:
    """A queue and its dead-letter queue, for redrive."""

    def __init__(
        self,
        *,
        name: str,
        queue: Queue,
        dead_letters: Queue,
        messages_per_second: float,
        fifo: bool,
        parking: Parking,
    ) -> None:
        self.name = name
        self.messages_per_second = messages_per_second
        self._queue = queue
        self._dead_letters = dead_letters
        self._fifo = fifo
        self._parking = parking

    def take(self, *, limit: int) -> list[Letter]:
        """Take dead letters, ten at most; unburied, they come back after a minute."""
        return self._dead_letters.receive(limit=limit, visibility_seconds=REDRIVE_TIMEOUT_SECONDS)

    def send(self, letter: Letter, *, redrives: int, delay_seconds: int) -> None:
        """Send it to the queue again. FIFO has no delay of a message: there it goes at once."""
        attributes = {**letter.attributes, REDRIVES: str(redrives)}
        if self._fifo:
            # The same deduplication id within five minutes would be taken and silently dropped.
            deduplication = deduplication_id(f"{letter.body} redrive {redrives}")
            message = Message(letter.body, attributes, 0, letter.group or "0", deduplication)
        else:
            message = Message(letter.body, attributes, delay_seconds)
        self._queue.send([message])

    def park(self, letter: Letter, reason: str) -> None:
        """Keep it where a person looks."""
        published = published_of(letter.body, letter.attributes)
        self._parking.park(
            step=self.name,
            reasons=[reason],
            body=published.body,
            attributes=published.attributes,
        )

    def bury(self, letter: Letter) -> None:
        """Delete it from the dead-letter queue."""
        self._dead_letters.delete(letter.handle)


def _chunk_message(chunk: PickedChunk) -> Message:
    body = {"kind": "send", "campaign_id": chunk.campaign_id, "seqs": chunk.seqs}
    attributes = {"kind": "send", "phone_number_id": chunk.phone_number_id, "lane": chunk.lane}
    return Message(to_json(body), attributes)


def _topic_entry(number: int, message: Message) -> dict[str, Any]:
    return {
        "Id": str(number),
        "Message": message.body,
        "MessageAttributes": _typed(message.attributes),
    }


def _queue_entry(number: int, message: Message) -> dict[str, Any]:
    entry = {
        "Id": str(number),
        "MessageBody": message.body,
        "MessageAttributes": _typed(message.attributes),
    }
    if message.group is not None:
        return entry | {
            "MessageGroupId": message.group,
            "MessageDeduplicationId": message.deduplication,
        }
    return entry | {"DelaySeconds": message.delay_seconds}


def _batches(
    messages: Sequence[Message], entry: Callable[[int, Message], dict[str, Any]]
) -> Iterator[list[dict[str, Any]]]:
    """Yield at most ten entries at a time, together no larger than one message may be."""
    batch: list[dict[str, Any]] = []
    size = 0
    for number, message in enumerate(messages):
        length = len(message.body.encode()) + sum(
            len(name) + len(value) + len("String") for name, value in message.attributes.items()
        )
        if batch and (len(batch) == SQS_BATCH_ENTRIES_MAX or size + length > SQS_MESSAGE_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(entry(number, message))
        size += length
    if batch:
        yield batch


def _send_all(
    entries: list[dict[str, Any]], call: Callable[[list[dict[str, Any]]], Mapping[str, Any]]
) -> None:
    for _ in range(_TRIES):
        failed = {failure["Id"]: failure for failure in call(entries).get("Failed", [])}
        entries = [entry for entry in entries if entry["Id"] in failed]
        if not entries:
            return
    codes = sorted({str(failure.get("Code")) for failure in failed.values()})
    raise NotTakenError(f"{len(entries)} entries were not taken: {', '.join(codes)}")


def _typed(attributes: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {
        name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
    }


def _texts(attributes: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    # We write no other kind, and SQS refuses an empty text in its place.
    return {
        name: value["StringValue"] for name, value in attributes.items() if "StringValue" in value
    }

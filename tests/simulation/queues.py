"""SNS and SQS as their documents describe them, behind the calls that the adapters make."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from random import Random
from typing import Any

from botocore.exceptions import ClientError

from sluice.domain.limits import FIFO_RECEIVES_MAX, SQS_RECEIVES_MAX
from tests.conftest import NOW
from tests.simulation.faults import Faults
from tests.simulation.virtual import VirtualClock, VirtualWorld

TOPIC = "topic"
DEAD = "-dead"


@dataclass(slots=True)
class Held:
    """A message in a queue."""

    message_id: str
    body: str
    attributes: Mapping[str, Any]
    group: str | None
    sent_at: float
    visible_at: float
    receives: int = 0
    handle: str = ""


@dataclass(slots=True)
class SimulatedQueue:
    """A queue: at least once, in any order, except in the groups of a FIFO queue."""

    name: str
    visibility_seconds: float
    fifo: bool
    heard: Callable[[], None] = lambda: None
    """Told whenever a message may be received: what the pollers of an event source do."""
    messages: dict[str, Held] = field(default_factory=dict)
    known: dict[str, float] = field(default_factory=dict)
    """Deduplication ids of five minutes."""

    def hear(self) -> None:
        """Tell whoever listens by then."""
        self.heard()

    @property
    def receives_max(self) -> int:
        return FIFO_RECEIVES_MAX if self.fifo else SQS_RECEIVES_MAX


class SimulatedAws:
    """The queues by name, and the topic before them. Also the client of both, for one function."""

    def __init__(self, world: VirtualWorld, faults: Faults, dice: Random) -> None:
        self.world = world
        self.faults = faults
        self.dice = dice
        self.queues: dict[str, SimulatedQueue] = {}
        self._ids = count(1)

    def add(self, name: str, *, timeout_seconds: float, fifo: bool = False) -> SimulatedQueue:
        """Make a queue and its dead letters."""
        self.queues[name + DEAD] = SimulatedQueue(name + DEAD, 60.0, fifo)
        self.queues[name] = SimulatedQueue(name, 6 * timeout_seconds, fifo)
        return self.queues[name]

    def publish(self, body: str, attributes: Mapping[str, Any]) -> None:
        """Route a message by its attributes: chunks raw, requests in SNS's envelope."""
        told = {name: value["StringValue"] for name, value in attributes.items()}
        if told["kind"] == "send":
            self.put(f"send-{told['phone_number_id']}-{told['lane']}", body, attributes)
            return
        envelope = {
            "Type": "Notification",
            "TopicArn": TOPIC,
            "MessageId": f"publication-{next(self._ids)}",
            "Message": body,
            "Timestamp": (NOW + timedelta(seconds=self.world.now)).isoformat(),
            "MessageAttributes": {
                name: {"Type": "String", "Value": value} for name, value in told.items()
            },
        }
        self.put(told["kind"], json.dumps(envelope), {})

    def put(self, name: str, body: str, attributes: Mapping[str, Any], **told: Any) -> None:
        """Keep a message; late where SQS is."""
        queue, now = self.queues[name], self.world.now
        deduplication = told.get("deduplication")
        if deduplication is not None:
            if queue.known.get(deduplication, -1e9) > now - 300:
                return
            queue.known[deduplication] = now
        # SQS loses nothing; a chunk is lost where a person purges a queue, or its days are over.
        if name.startswith("send-") and self.faults.strikes("queue: lost"):
            return
        delay = float(told.get("delay_seconds", 0)) + self.dice.uniform(0.01, 0.2)
        if self.faults.strikes("queue: late"):
            delay += self.faults.between("queue: late", 0.5, 20.0)
        held = Held(
            f"message-{next(self._ids)}", body, attributes, told.get("group"), now, now + delay
        )
        queue.messages[held.message_id] = held
        self.world.at(held.visible_at, queue.hear)

    def take(self, name: str, limit: int) -> list[Held]:
        """Receive some of what is visible, in any order; of a FIFO group only the first."""
        queue, now = self.queues[name], self.world.now
        groups_hidden = {
            held.group for held in queue.messages.values() if queue.fifo and held.visible_at > now
        }
        visible = [held for held in queue.messages.values() if held.visible_at <= now]
        if queue.fifo:
            visible = [held for held in visible if held.group not in groups_hidden]
        else:
            self.dice.shuffle(visible)
        taken: list[Held] = []
        for held in visible:
            if len(taken) == limit:
                break
            held.receives += 1
            if held.receives > queue.receives_max and name + DEAD in self.queues:
                del queue.messages[held.message_id]
                self.put(
                    name + DEAD, held.body, held.attributes,
                    group=held.group, deduplication=f"dead {held.message_id}",
                )  # fmt: skip
                continue
            held.handle = f"{held.message_id}/{held.receives}"
            self.give_back(name, held, after_seconds=queue.visibility_seconds)
            taken.append(held)
        return taken

    def give_back(self, name: str, held: Held, *, after_seconds: float) -> None:
        """Let a message be seen again then."""
        queue = self.queues[name]
        if held.message_id in queue.messages:
            held.visible_at = self.world.now + after_seconds
            self.world.at(held.visible_at, queue.hear)

    def drop(self, name: str, handle: str) -> None:
        """Delete a message; now and then it comes again all the same."""
        queue = self.queues[name]
        held = queue.messages.get(handle.partition("/")[0])
        if held is None or (queue.fifo and held.handle != handle):
            return
        if not queue.fifo and self.faults.strikes("queue: delivered twice"):
            self.give_back(name, held, after_seconds=self.dice.uniform(0.0, 30.0))
            return
        del queue.messages[held.message_id]

    def client(self, clock: VirtualClock, point: Callable[[], None]) -> "Client":
        """The boto3 of one function, which may die at ``point``."""
        return Client(self, clock, point)


class Client:
    """What the adapters ask of boto3's clients of SNS and SQS."""

    def __init__(self, aws: SimulatedAws, clock: VirtualClock, point: Callable[[], None]) -> None:
        self._aws = aws
        self._clock = clock
        self._point = point

    def publish_batch(
        self, *, TopicArn: str, PublishBatchRequestEntries: list[dict[str, Any]]
    ) -> dict[str, Any]:
        assert TopicArn == TOPIC

        def publish(entry: dict[str, Any]) -> None:
            self._aws.publish(entry["Message"], entry["MessageAttributes"])

        return self._each(PublishBatchRequestEntries, publish)

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:
        def send(entry: dict[str, Any]) -> None:
            self._aws.put(
                QueueUrl, entry["MessageBody"], entry.get("MessageAttributes", {}),
                group=entry.get("MessageGroupId"),
                deduplication=entry.get("MessageDeduplicationId"),
                delay_seconds=entry.get("DelaySeconds", 0),
            )  # fmt: skip

        return self._each(Entries, send)

    def receive_message(self, *, QueueUrl: str, MaxNumberOfMessages: int, **_: Any) -> Any:
        self._call()
        return {
            "Messages": [
                {
                    "ReceiptHandle": held.handle,
                    "Body": held.body,
                    "MessageAttributes": held.attributes,
                    "Attributes": {"MessageGroupId": held.group} if held.group else {},
                }
                for held in self._aws.take(QueueUrl, MaxNumberOfMessages)
            ]
        }

    def delete_message(self, *, QueueUrl: str, ReceiptHandle: str) -> None:
        self._call()
        self._aws.drop(QueueUrl, ReceiptHandle)
        self._point()

    def change_message_visibility(
        self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int
    ) -> None:
        self._call()
        held = self._aws.queues[QueueUrl].messages.get(ReceiptHandle.partition("/")[0])
        if held is not None:
            self._aws.give_back(QueueUrl, held, after_seconds=VisibilityTimeout)

    def _call(self) -> None:
        self._point()
        self._clock.sleep(self._aws.dice.uniform(0.003, 0.03))
        if self._aws.faults.strikes("queue: call refused"):
            raise ClientError({"Error": {"Code": "ServiceUnavailable"}}, "call")

    def _each(
        self, entries: list[dict[str, Any]], put: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        self._call()
        failed = []
        for entry in entries:
            if self._aws.faults.strikes("queue: entry not taken"):
                failed.append({"Id": entry["Id"], "Code": "InternalError"})
            else:
                put(entry)
        self._point()
        if self._aws.faults.strikes("queue: answer lost"):
            raise ClientError({"Error": {"Code": "RequestTimeout"}}, "call")
        return {"Failed": failed}


def event_of(messages: list[Held]) -> dict[str, Any]:
    """The event that an event source makes of them."""
    return {
        "Records": [
            {
                "messageId": held.message_id,
                "receiptHandle": held.handle,
                "body": held.body,
                "attributes": {
                    "ApproximateReceiveCount": str(held.receives),
                    "SentTimestamp": "0",
                },
                "messageAttributes": {
                    name: {"stringValue": value["StringValue"], "dataType": "String"}
                    for name, value in held.attributes.items()
                },
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:queue",
            }
            for held in messages
        ]
    }


def published(body: Mapping[str, Any], **attributes: str) -> tuple[str, dict[str, Any]]:
    """A message with its attributes, as SNS takes it."""
    typed = {name: {"StringValue": value} for name, value in attributes.items()}
    return json.dumps(body), typed

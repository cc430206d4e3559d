"""The parked queue: looked at, and emptied as a person orders."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sluice.domain.delivery import moment_of
from sluice.domain.letter import Letter, Message
from sluice.domain.limits import SQS_BATCH_ENTRIES_MAX
from sluice.domain.packing import deduplication_id
from sluice.domain.parked import Destination, Parked, fresh_attributes, opened

WAIT_SECONDS = 1
"""Long polling asks every server of SQS; a short poll may find nothing where there is something."""


class ParkedMessages:
    """What no retry can help, as it lies in its queue."""

    def __init__(self, client: Any, *, url: str, wait_seconds: int = WAIT_SECONDS) -> None:
        self._client = client
        self._url = url
        self._wait_seconds = wait_seconds

    def take(self, *, hidden_seconds: int) -> list[Parked]:
        """Take some, hidden from others for so long; none: no more are to be seen."""
        answer = self._client.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=SQS_BATCH_ENTRIES_MAX,
            VisibilityTimeout=hidden_seconds,
            WaitTimeSeconds=self._wait_seconds,
            MessageSystemAttributeNames=["SentTimestamp"],
        )
        return [opened(_letter(message)) for message in answer.get("Messages", [])]

    def show_again(self, parked: Sequence[Parked]) -> None:
        """Let others see them at once. What is not taken is seen a little later."""
        for entries in _entries(parked):
            self._client.change_message_visibility_batch(
                QueueUrl=self._url,
                Entries=[{**entry, "VisibilityTimeout": 0} for entry in entries],
            )

    def delete(self, parked: Sequence[Parked]) -> None:
        """Delete them. What is not taken comes again, and is dealt with once more."""
        for entries in _entries(parked):
            self._client.delete_message_batch(QueueUrl=self._url, Entries=entries)

    def approximate_count(self) -> int:
        """Return how many SQS thinks there are, hidden ones too."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=names)
        return sum(int(answer["Attributes"].get(name, 0)) for name in names)


class Topic(Protocol):
    """The topic campaign-requests."""

    def publish(self, messages: Sequence[Message]) -> None:
        """Publish all, or raise."""


class Queue(Protocol):
    """A queue of statuses or signals."""

    def send(self, messages: Sequence[Message]) -> None:
        """Send all, or raise."""


class Returns:
    """Where parked messages go back to."""

    def __init__(self, *, topic: Topic, statuses: Queue, signals: Queue) -> None:
        self._topic = topic
        self._statuses = statuses
        self._signals = signals

    def give_back(self, parked: Mapping[Destination, Sequence[Parked]]) -> None:
        """Publish again what came from the topic, and queue the rest. Raises NotTakenError."""
        topic = parked.get(Destination.TOPIC, ())
        self._topic.publish([Message(one.body, fresh_attributes(one)) for one in topic])
        self._statuses.send([_status(one) for one in parked.get(Destination.STATUSES, ())])
        self._signals.send([Message(one.body) for one in parked.get(Destination.SIGNALS, ())])


def _status(parked: Parked) -> Message:
    # Any group will do: statuses end the same in any order. Under its first deduplication id it
    # would be taken and silently dropped if it was parked within five minutes.
    deduplication = deduplication_id(f"{parked.body} parked {parked.letter.message_id}")
    return Message(parked.body, group="0", deduplication=deduplication)


def _letter(message: Mapping[str, Any]) -> Letter:
    return Letter(
        handle=message["ReceiptHandle"],
        body=message["Body"],
        attributes={},
        message_id=message["MessageId"],
        sent_at=moment_of(message.get("Attributes", {}).get("SentTimestamp")),
    )


def _entries(parked: Sequence[Parked]) -> Iterator[list[dict[str, Any]]]:
    for first in range(0, len(parked), SQS_BATCH_ENTRIES_MAX):
        yield [
            {"Id": str(place), "ReceiptHandle": one.letter.handle}
            for place, one in enumerate(parked[first : first + SQS_BATCH_ENTRIES_MAX])
        ]

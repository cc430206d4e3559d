"""What Lambda hands to a function: read, and where each message asks for something, settled."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, assert_never

from aws_lambda_powertools.utilities.data_classes import SQSEvent
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sluice.domain.audit import Entry, Origin, origin_of, subject_of
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.delivery import moment_of
from sluice.domain.notification import published_of
from sluice.domain.parked import REASON_CHARACTERS_MAX, REASONS_MAX
from sluice.metrics import PARKED


def attributes_of(record: SQSRecord) -> dict[str, str]:
    """Return the message attributes of a queue record as text."""
    return {
        name: attribute["stringValue"]
        for name, attribute in record.raw_event.get("messageAttributes", {}).items()
        if isinstance(attribute.get("stringValue"), str)
    }


def sent_at(record: SQSRecord) -> datetime | None:
    """Return when a queue record came to its queue, by the clock of SQS."""
    return moment_of(record.raw_event.get("attributes", {}).get("SentTimestamp"))


@dataclass(frozen=True, slots=True)
class Received:
    """A message that asks for something, as it was published."""

    body: str
    attributes: Mapping[str, str]
    origin: Origin
    receives: int
    """How often it has come, this time included."""
    sent_at: datetime | None
    """When it came to its queue, by the clock of SQS."""


def received_of(record: SQSRecord) -> Received:
    """Return what a queue record holds, out of the topic's envelope if it came by the topic."""
    published = published_of(record.body, attributes_of(record))
    origin = origin_of(
        published.attributes,
        message_id=published.message_id or record.message_id,
        sender=record.raw_event.get("attributes", {}).get("SenderId"),
        by_topic=published.message_id is not None,
        at=published.at or sent_at(record),
    )
    receives = int(record.attributes.approximate_receive_count or 1)
    return Received(published.body, published.attributes, origin, receives, sent_at(record))


def objects_in(body: str, name: str) -> list[Mapping[str, Any]] | None:
    """Return the list of objects under ``name`` in a JSON body; None for anything else."""
    try:
        found = json.loads(body)[name]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    whole = isinstance(found, list) and all(isinstance(one, dict) for one in found)
    return found if whole else None


def deadline_of(context: Any, clock: Clock) -> float:
    """Return when Lambda kills the function, on the monotonic clock."""
    return clock.monotonic() + float(context.get_remaining_time_in_millis()) / 1000


class Queue(Protocol):
    """Where the messages come from."""

    def show_again(self, receipt_handle: str, *, in_seconds: int) -> None:
        """Show a message again after so many seconds."""


class Parking(Protocol):
    """Where messages are kept that no retry can help."""

    def park(
        self, *, step: str, reasons: Sequence[str], body: str, attributes: Mapping[str, str]
    ) -> None:
        """Keep a message with its reasons."""


class Audit(Protocol):
    """Who did what."""

    def note(self, origin: Origin, entry: Entry) -> bool:
        """Note something, once for each message."""


class Waker(Protocol):
    """What wakes the dispatcher."""

    def wake(self) -> None:
        """Make it look at once."""


class Telemetry(Protocol):
    """Log and metrics."""

    def report(self, message: str, **told: Any) -> None:
        """Log a line and count."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """The messages of one step's queue."""

    step: str
    queue: Queue
    parking: Parking
    waker: Waker | None
    """None: nothing that this step does is to be dispatched."""
    telemetry: Telemetry
    audit: Audit

    def empty(
        self,
        event: Mapping[str, Any],
        carry_out: Callable[[Received], Carried],
    ) -> dict[str, Any]:
        """Carry each message out; return the batch response."""
        failures = []
        for record in SQSEvent(dict(event)).records:
            received = received_of(record)
            if self._comes_again(received, carry_out(received), record):
                failures.append({"itemIdentifier": record.message_id})
        return {"batchItemFailures": failures}

    def _comes_again(self, received: Received, carried: Carried, record: SQSRecord) -> bool:
        about: dict[str, Any] = {"message_id": record.message_id}
        match carried:
            case Done(facts=facts, wake=wake, counts=counts):
                count = f"{self.step.capitalize()}Messages"
                counts = {count: 1, **counts}
                told = {**about, "facts": dict(facts)}
                self.telemetry.report("carried out", counts=counts, **told)
                if wake and self.waker is not None:
                    self.waker.wake()
            case Again(in_seconds=seconds, reason=reason, counts=counts):
                told = {**about, "reason": reason, "in_seconds": seconds}
                self.telemetry.report("comes again", counts=dict(counts), **told)
                self.queue.show_again(record.receipt_handle, in_seconds=seconds)
                return True
            case Refused(reasons=reasons):
                details = {"step": self.step, "reasons": _told(reasons)}
                entry = Entry(
                    "refused", subject_of(received.body, received.attributes.get("kind")), details
                )
                self.audit.note(received.origin, entry)
                self.parking.park(
                    step=self.step,
                    reasons=reasons,
                    body=received.body,
                    attributes=received.attributes,
                )
                told = {**about, "reasons": list(reasons)}
                self.telemetry.report("parked", counts={PARKED.name: 1}, **told)
            case _:
                assert_never(carried)
        return False


def _told(reasons: Sequence[str]) -> list[str]:
    return [reason[:REASON_CHARACTERS_MAX] for reason in reasons[:REASONS_MAX]]

"""Ports that write down what a function told them, and events of one message."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from sluice.domain.outcomes import Accepted
from tests.conftest import EVENTS


def samples(step: str) -> list[str]:
    """The sample events of a step, by name."""
    return sorted(file.stem for file in (EVENTS / step).glob("*.json"))


def event_of(*bodies: Any, **attributes: str) -> dict[str, Any]:
    """An event of queue messages: bodies as text, or as what their JSON says."""
    return {
        "Records": [
            {
                "messageId": f"message-{place}",
                "receiptHandle": f"handle-{place}",
                "body": body if isinstance(body, str) else json.dumps(body),
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {
                    name: {"stringValue": value, "dataType": "String"}
                    for name, value in attributes.items()
                },
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:queue",
            }
            for place, body in enumerate(bodies)
        ]
    }


def failed(answer: dict[str, Any]) -> list[str]:
    """The messages that come again."""
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def parked(aws) -> list[dict[str, Any]]:
    """The envelopes of what was parked, taken out."""
    return [json.loads(body) for body in aws.bodies("parked")]


def reasons(aws) -> list[str]:
    """Why everything that was parked was parked."""
    return [reason for envelope in parked(aws) for reason in envelope["reasons"]]


def wait_until_blocked(database: Any) -> None:
    """Wait until somebody waits for a lock."""
    give_up_at = time.monotonic() + 10
    while not database.fetch("SELECT 1 FROM pg_locks WHERE NOT granted"):
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


@dataclass
class Telemetry:
    """Keeps what was reported."""

    reports: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)

    def report(self, message, **told):
        self.reports.append((message, told))

    def warn(self, message, **facts):
        self.reports.append((message, facts))

    def fail(self, _message, error, **_facts):
        self.failures.append(error)

    def counts(self) -> dict[str, float]:
        """Counts of every report, without zeros."""
        total: dict[str, float] = {}
        for _, told in self.reports:
            for name, count in (told.get("counts") or {}).items():
                if count:
                    total[name] = total.get(name, 0) + count
        return total

    def facts(self, name: str) -> list[Any]:
        return [told[name] for _, told in self.reports if name in told]


@dataclass
class Audit:
    """Keeps what was noted, once for each message."""

    notes: dict[Any, Any] = field(default_factory=dict)

    def note(self, origin, entry):
        key = (origin.message_id, entry.action)
        return self.notes.setdefault(key, entry) is entry


@dataclass
class Waker:
    """Counts how often the dispatcher was woken."""

    wakes: int = 0

    def wake(self):
        self.wakes += 1


@dataclass
class CloudApi:
    """Accepts everything at once, and lets the set clock pass until a request is due."""

    clock: Any
    bodies: list[dict[str, Any]] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    full: bool = False

    @property
    def in_flight(self):
        return len(self.done)

    def prepare(self):
        self.done.clear()

    def start(self, name, body, *, due_at):
        self.clock.advance(max(0.0, due_at - self.clock.monotonic()))
        self.bodies.append(dict(body))
        self.done.append((name, Accepted(f"wamid.{len(self.bodies)}")))
        return self.clock.monotonic()

    def take(self, **_timeout):
        taken, self.done = self.done, []
        return taken

    def latencies(self):
        return [12.5 for _ in self.bodies]

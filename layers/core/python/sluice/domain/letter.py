"""Messages of queues: one to send, and one that was taken."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

REDRIVES: Final = "redrives"
"""Message attribute: how often the message came back from a dead-letter queue."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to send. ``group`` and ``deduplication`` are for FIFO queues only."""

    body: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: int = 0
    group: str | None = None
    deduplication: str | None = None


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as it was taken; ``handle`` deletes it, ``group`` is set on FIFO queues."""

    handle: str
    body: str
    attributes: Mapping[str, str]
    group: str | None = None
    message_id: str = ""
    sent_at: datetime | None = None
    """When it came to the queue, by the clock of SQS."""

    @property
    def redrives(self) -> int:
        """How often it was redriven; 0 where the attribute is missing or unreadable."""
        text = self.attributes.get(REDRIVES, "0")
        return int(text) if text in _COUNTS else 0


_COUNTS: Final = frozenset(map(str, range(1, 1000)))

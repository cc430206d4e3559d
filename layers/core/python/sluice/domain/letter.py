"""A message that came to a dead-letter queue."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

REDRIVES: Final = "redrives"
"""Message attribute: how often the message came back from a dead-letter queue."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as it was taken; ``handle`` deletes it, ``group`` is set on FIFO queues."""

    handle: str
    body: str
    attributes: Mapping[str, str]
    group: str | None = None

    @property
    def redrives(self) -> int:
        """How often it was redriven; 0 where the attribute is missing or unreadable."""
        text = self.attributes.get(REDRIVES, "0")
        return int(text) if text in _COUNTS else 0


_COUNTS: Final = frozenset(map(str, range(1, 1000)))

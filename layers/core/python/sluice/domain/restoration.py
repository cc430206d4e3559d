"""A restored database, and what it must learn before it may send again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

RESTORE_MARGIN: Final = timedelta(minutes=2)
"""The journal is read from so long before the backup: a result may be noted, and not recorded."""
RESTORE_SLICE: Final = timedelta(minutes=5)
"""What is read, and settled in one transaction."""
IDS_SKIPPED: Final = 1_000_000
"""Ids of campaigns, and positions of direct sends, that the lost time may have used."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a part of the journal changed, in deliveries."""

    accepted: int
    doubted: int
    missing: Mapping[int, int]
    """Claims of deliveries that are not there, by campaign_id."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """How far the journal was read since a backup, and what came of it."""

    restored_to: datetime
    upto: datetime
    passed_to: datetime
    accepted: int
    doubted: int
    missing: Mapping[str, int]
    finished: bool

    @property
    def next_slice(self) -> tuple[datetime, datetime]:
        """From when to when the journal is to be read next."""
        return self.passed_to, min(self.passed_to + RESTORE_SLICE, self.upto)

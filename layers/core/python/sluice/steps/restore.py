"""Restore: teach a restored database what has left since its backup, from the senders' journal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sluice.domain.claim import Key
from sluice.domain.clock import Clock
from sluice.domain.journal import Noted, latest
from sluice.domain.restoration import Restoration

MARGIN_SECONDS = 240.0
"""A slice that is begun before the end is ended in time."""


class Journal(Protocol):
    """The journal of the senders."""

    def between(self, since: datetime, until: datetime) -> Iterable[Noted]:
        """Return what was noted from ``since`` until before ``until``, in the order of time."""


class Restorations(Protocol):
    """Restored backups."""

    def begin(self, restored_to: datetime, *, upto: datetime, now: datetime) -> Restoration:
        """Hold every campaign, and skip ids that may be in use; once for each backup."""

    def settle(
        self, restoration: Restoration, noted: Mapping[Key, Noted], *, now: datetime
    ) -> Restoration:
        """Write what the next slice of the journal says, all of it or nothing."""

    def held(self, restoration: Restoration) -> Sequence[str]:
        """Return the campaigns that wait for somebody to resume them."""


@dataclass(frozen=True, slots=True)
class Restored:
    """How far it is, and which campaigns wait."""

    restoration: Restoration
    held: Sequence[str]


def restore(
    restored_to: datetime,
    *,
    upto: datetime,
    journal: Journal,
    restorations: Restorations,
    clock: Clock,
    deadline: float,
) -> Restored:
    """Read the journal slice by slice until its end, or until the deadline is near.

    How far it was read is stored with what it changed: killed, or called again, it goes on there.
    """
    restoration = restorations.begin(restored_to, upto=upto, now=clock.now())
    while not restoration.finished and clock.monotonic() < deadline - MARGIN_SECONDS:
        noted = latest(journal.between(*restoration.next_slice))
        restoration = restorations.settle(restoration, noted, now=clock.now())
    return Restored(restoration, restorations.held(restoration))

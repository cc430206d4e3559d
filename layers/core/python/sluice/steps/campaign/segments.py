"""Loading by segments: each is stored with the progress that it makes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol, TypeVar

from sluice.domain.audience import Position, RejectedRow
from sluice.domain.carried import Again
from sluice.domain.clock import Clock
from sluice.domain.limits import LOAD_SEGMENT_ROWS

SEGMENT_MARGIN_SECONDS: Final = 60.0
"""A segment and the end of a load fit into this."""
RETRY_SECONDS: Final = 15

Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)
Stored_contra = TypeVar("Stored_contra", contravariant=True)


class Store(Protocol[Stored_contra]):
    """What keeps a segment together with how far the load has come."""

    def __call__(
        self, rows: Sequence[Stored_contra], *, start: Position, end: Position, etag: str
    ) -> bool:
        """Store rows and move the load from start to end; False where another loader has."""


class Source(Protocol[Made_co]):
    """Where rows come from."""

    @property
    def etag(self) -> str:
        """What identifies its content."""

    def rows(self, position: Position) -> Iterator[Made_co | RejectedRow] | None:
        """Yield the rows from a position on, and move it; None where the content has changed."""


@dataclass(slots=True)
class Loaded:
    """What this run stored, up to the end of the source."""

    lines: int = 0
    rejected: int = 0


def load_segments(
    source: Source[Made],
    store: Store[Made | RejectedRow],
    *,
    since: Position,
    clock: Clock,
    stop_at: float,
) -> Loaded | Again:
    """Store everything from a position on; Again where the time is over or another loader works.

    Killed anywhere, the next run goes on where the last stored segment ended.
    """
    stored, read, loaded = _copy(since), _copy(since), Loaded()
    rows = source.rows(read)
    if rows is None:
        return Again(RETRY_SECONDS, "the content changed while it was opened")
    while True:
        segment = list(islice(rows, LOAD_SEGMENT_ROWS))
        if not segment and read == stored:
            return loaded
        if not store(segment, start=stored, end=read, etag=source.etag):
            return Again(RETRY_SECONDS, "another loader is at work")
        stored = _copy(read)
        loaded.lines += len(segment)
        loaded.rejected += sum(isinstance(row, RejectedRow) for row in segment)
        if segment and clock.monotonic() > stop_at:
            return Again(1, f"{read.line} lines are loaded")


def _copy(position: Position) -> Position:
    return Position(position.offset, position.line)

"""Saved audiences: people of a file kept under a name, to be sent to or left out, and forgotten."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

from sluice.domain.audience import Position, RejectedRow
from sluice.domain.audit import Origin
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.requests import DropAudience, SaveAudience, request_hash
from sluice.domain.saved import Kept, Named, Naming
from sluice.steps.campaign.files import Audiences, open_file
from sluice.steps.campaign.named import PATIENCE_RECEIVES, RETRY_SECONDS
from sluice.steps.campaign.segments import SEGMENT_MARGIN_SECONDS, load_segments

Row = Named | RejectedRow


class SavedAudiences(Protocol):
    """Saved audiences, by segments."""

    def create(
        self,
        audience: str,
        *,
        request_hash: str,
        s3: str,
        is_ndjson: bool,
        etag: str,
        now: datetime,
        origin: Origin,
    ) -> Kept:
        """Store an audience, or return the one that has its id."""

    def find(self, audience: str) -> Kept | None:
        """Return the audience that has the client's id."""

    def store(
        self,
        audience_id: int,
        rows: Sequence[Row],
        *,
        start: Position,
        end: Position,
        etag: str,
    ) -> bool:
        """Keep a segment; False where it was dropped, or another loader has."""

    def finish(self, audience_id: int, *, now: datetime) -> None:
        """Mark the audience as saved."""

    def drop(self, audience: str, *, now: datetime, origin: Origin) -> Kept | None:
        """Let nobody use it any more; None: there is none."""

    def forget(self, audience_id: int) -> int:
        """Delete some of what is kept, and return how many rows; 0: none is left."""


def save_audience(
    request: SaveAudience,
    *,
    origin: Origin,
    saved: SavedAudiences,
    audiences: Audiences,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Keep the people of a file, going on where an earlier try ended.

    Published twice it is one; the same id with another content is refused. ``deadline`` is on
    ``clock.monotonic()``.
    """
    kept = saved.find(request.id)
    if kept is not None and (refusal := _refusal(request, kept)) is not None:
        return refusal
    source = open_file(request.s3, Naming(), audiences, path="s3", ndjson=request.is_ndjson)
    if isinstance(source, Refused):
        return source
    kept = kept or saved.create(
        request.id,
        request_hash=request_hash(request),
        s3=request.s3,
        is_ndjson=request.is_ndjson,
        etag=source.etag,
        now=clock.now(),
        origin=origin,
    )
    refusal = _refusal(request, kept, etag=source.etag)
    if refusal is not None:
        return refusal
    if kept.finished:
        return Done({"audience": request.id, "again": True})
    saving = load_segments(
        source,
        partial(saved.store, kept.audience_id),
        since=kept.position,
        clock=clock,
        stop_at=deadline - SEGMENT_MARGIN_SECONDS,
    )
    if isinstance(saving, Again):
        return saving
    saved.finish(kept.audience_id, now=clock.now())
    return Done({"audience": request.id, "lines": saving.lines, "rejected": saving.rejected})


def _refusal(request: SaveAudience, kept: Kept, *, etag: str | None = None) -> Refused | None:
    """Why the audience that has the id is another one; ``etag`` is that of the file now."""
    if kept.request_hash != request_hash(request):
        return Refused([f"audience {request.id} exists with another content"])
    if kept.dropped:
        return Refused([f"audience {request.id} was dropped: its id is not used again"])
    if etag not in (None, kept.etag):
        return Refused([f"s3: {request.s3} is not what it was: save it under another id"])
    return None


def drop_audience(
    request: DropAudience,
    *,
    receives: int,
    origin: Origin,
    saved: SavedAudiences,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Forget a saved audience, batch by batch; from the first on nobody can use it.

    It waits about a minute for an audience that it overtook.
    """
    kept = saved.drop(request.id, now=clock.now(), origin=origin)
    if kept is None:
        reason = f"there is no audience {request.id}"
        return Again(RETRY_SECONDS, reason) if receives < PATIENCE_RECEIVES else Refused([reason])
    forgotten = 0
    while rows := saved.forget(kept.audience_id):
        forgotten += rows
        if clock.monotonic() > deadline - SEGMENT_MARGIN_SECONDS:
            return Again(1, f"{forgotten} rows are forgotten")
    return Done({"audience": request.id, "forgotten": forgotten})

"""Suppressions that are published: listed people are suppressed or lifted, or all are exported."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Protocol

from sluice.domain.audience import ADDRESS, Position, RejectedRow
from sluice.domain.audit import Origin
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.listing import Listing, StoredList
from sluice.domain.requests import ListRequest, SuppressionsExport, request_hash
from sluice.domain.suppressions import Suppression
from sluice.steps.campaign.files import Audiences, File, open_file
from sluice.steps.campaign.segments import SEGMENT_MARGIN_SECONDS, load_segments

Row = Suppression | RejectedRow


class Lists(Protocol):
    """Published lists, by segments."""

    def create(
        self, list_id: str, *, request_hash: str, action: str, now: datetime, origin: Origin
    ) -> StoredList:
        """Store a list, or return the one that has its id."""

    def store(
        self,
        list_id: str,
        rows: Sequence[Row],
        *,
        start: Position,
        end: Position,
        etag: str,
        lifted: bool,
    ) -> bool:
        """Suppress or lift a segment; False where another loader has."""

    def finish(self, list_id: str, *, now: datetime) -> None:
        """Mark the list as done with."""


class Suppressions(Protocol):
    """Everybody who is suppressed."""

    def export_csv(self) -> Iterator[bytes]:
        """Yield everything in force, as pieces of a CSV."""


class Uploads(Protocol):
    """Files that are written."""

    def write(self, uri: str, pieces: Iterable[bytes]) -> int | None:
        """Write a file and return its bytes; None: it may not be written."""


def list_people(
    request: ListRequest,
    *,
    origin: Origin,
    lists: Lists,
    audiences: Audiences,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Suppress the listed people, or lift them, going on where an earlier try ended.

    Published twice it is one; the same id with another content is refused. ``deadline`` is on
    ``clock.monotonic()``.
    """
    listing = Listing(request.scope, request.reason, f"import {request.id}", clock.now())
    source = _source(request, listing, audiences)
    if isinstance(source, Refused):
        return source
    content = request_hash(request)
    stored = lists.create(
        request.id, request_hash=content, action=request.action, now=clock.now(), origin=origin
    )
    if stored.request_hash != content:
        return Refused([f"suppressions {request.id} exist with another content"])
    if stored.finished:
        return Done({"suppressions": request.id, "again": True})
    if stored.etag not in (None, source.etag):
        return Refused(["the list changed while it was loading"])
    # When it was first taken, so that a later try means the same.
    source = replace(source, wanted=replace(listing, at=stored.created_at))
    loaded = load_segments(
        source,
        partial(lists.store, request.id, lifted=request.action == "lift"),
        since=stored.position,
        clock=clock,
        stop_at=deadline - SEGMENT_MARGIN_SECONDS,
    )
    if isinstance(loaded, Again):
        return loaded
    lists.finish(request.id, now=clock.now())
    people = loaded.lines - loaded.rejected
    return Done({"suppressions": request.id, "people": people, "rejected": loaded.rejected})


def export_people(
    request: SuppressionsExport,
    *,
    origin: Origin,
    lists: Lists,
    suppressions: Suppressions,
    uploads: Uploads,
    clock: Clock,
) -> Carried:
    """Write everybody who is suppressed to a file, once for each id."""
    content = request_hash(request)
    stored = lists.create(
        request.id, request_hash=content, action=request.action, now=clock.now(), origin=origin
    )
    if stored.request_hash != content:
        return Refused([f"suppressions {request.id} exist with another content"])
    if stored.finished:
        return Done({"suppressions": request.id, "again": True})
    with closing(suppressions.export_csv()) as pieces:  # type: ignore[type-var]
        size = uploads.write(request.s3, pieces)
    if size is None:
        return Refused([f"s3: {request.s3} may not be written"])
    lists.finish(request.id, now=clock.now())
    return Done({"suppressions": request.id, "bytes": size})


@dataclass(frozen=True, slots=True)
class _Inline:
    addresses: Sequence[str]
    wanted: Listing
    etag: str = "inline"

    def rows(self, position: Position) -> Iterator[Row]:
        for address in islice(self.addresses, position.line, None):
            position.line += 1
            yield self.wanted.row(position.line, {ADDRESS: address})


def _source(
    request: ListRequest, listing: Listing, audiences: Audiences
) -> _Inline | File[Suppression] | Refused:
    if request.s3 is None:
        return _Inline(request.recipients or (), listing)
    return open_file(request.s3, listing, audiences, path="s3")

"""Campaign: store what was published, and load its audience."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Protocol

from sluice.domain.audience import Position, RejectedRow, Row, Wanted, inline_rows
from sluice.domain.campaign import StoredCampaign
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.limits import LOAD_SEGMENT_ROWS
from sluice.domain.requests import (
    CampaignRequest,
    InlineAudience,
    StoredAudience,
    request_hash,
)
from sluice.domain.templates import columns_of
from sluice.steps.campaign.files import Audiences, File, open_file

LOAD_MARGIN_SECONDS = 60.0
"""A segment and the end of a load fit into this."""
RETRY_SECONDS = 15


class Campaigns(Protocol):
    """What clients published."""

    def create(
        self, request: CampaignRequest, *, request_hash: str, now: datetime
    ) -> StoredCampaign:
        """Store the campaign, or return the one that has its id."""


class Loads(Protocol):
    """Audiences, by segments."""

    def store(
        self,
        campaign_id: int,
        rows: Sequence[Row],
        *,
        start: Position,
        end: Position,
        etag: str,
    ) -> bool:
        """Store a segment; False where another loader has."""

    def seal(self, campaign_id: int, *, now: datetime) -> None:
        """End the load."""


class Stops(Protocol):
    """Pauses."""

    def pause_campaign(self, campaign_id: int, *, until: datetime | None, reason: str) -> None:
        """Stop a running campaign."""


def start_campaign(
    request: CampaignRequest,
    *,
    campaigns: Campaigns,
    loads: Loads,
    audiences: Audiences,
    stops: Stops,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Store the campaign and load its audience, going on where an earlier try ended.

    Published twice it is one; the same id with another content is refused. ``deadline`` is on
    ``clock.monotonic()``.
    """
    columns = columns_of(request.template.model_dump(mode="json"))
    wanted = Wanted(
        columns,
        request.numbers,
        timed=request.timed,
        united_states=request.sends_to_the_united_states,
    )
    source = _source(request, wanted, audiences)
    if isinstance(source, Refused):
        return source
    content = request_hash(request)
    stored = campaigns.create(request, request_hash=content, now=clock.now())
    if stored.request_hash != content:
        return Refused([f"campaign {request.campaign} exists with another content"])
    if stored.loaded or stored.state == "cancelled":
        return Done({"campaign_id": stored.campaign_id, "again": True}, wake=True)
    if stored.audience_etag not in (None, source.etag):
        reason = "the audience changed while it was loading"
        stops.pause_campaign(stored.campaign_id, until=None, reason=reason)
        return Refused([reason])
    start = Position(stored.position.offset, stored.position.line)
    load = _Load(stored.campaign_id, start, stored.position, source.etag, loads, clock)
    rows = source.rows(load.position)
    if rows is None:
        return Again(RETRY_SECONDS, "the audience changed while it was opened")
    return load.run(rows, deadline - LOAD_MARGIN_SECONDS)


@dataclass(frozen=True, slots=True)
class _Inline:
    audience: InlineAudience
    wanted: Wanted
    etag: str = "inline"

    def rows(self, position: Position) -> Iterator[Row]:
        recipients = [person.model_dump(mode="json") for person in self.audience.recipients]
        for row in islice(inline_rows(recipients, self.wanted), position.line, None):
            position.line += 1
            yield row


def _source(
    request: CampaignRequest, wanted: Wanted, audiences: Audiences
) -> "_Inline | File[Row] | Refused":
    if isinstance(request.audience, InlineAudience):
        return _Inline(request.audience, wanted)
    return open_file(
        request.audience.s3,
        wanted,
        audiences,
        path="audience.s3",
        ndjson=_format(request.audience) == "ndjson",
    )


def _format(audience: StoredAudience) -> str:
    if audience.format is not None:
        return audience.format
    return "ndjson" if audience.s3.endswith((".ndjson", ".jsonl")) else "csv"


@dataclass(slots=True)
class _Load:
    campaign_id: int
    stored: Position
    """As far as the database has it."""
    position: Position
    """As far as the file is read: the rows move it."""
    etag: str
    loads: Loads
    clock: Clock

    def run(self, rows: Iterator[Row], stop_at: float) -> Carried:
        lines = rejected = 0
        while True:
            segment = list(islice(rows, LOAD_SEGMENT_ROWS))
            if not segment and self.position == self.stored:
                break
            if not self._store(segment):
                return Again(RETRY_SECONDS, "another loader is at work")
            rejected += sum(isinstance(row, RejectedRow) for row in segment)
            lines += len(segment)
            if segment and self.clock.monotonic() > stop_at:
                return Again(1, f"{self.position.line} lines are loaded")
        self.loads.seal(self.campaign_id, now=self.clock.now())
        facts = {"campaign_id": self.campaign_id, "lines": lines, "rejected": rejected}
        return Done(facts, wake=True)

    def _store(self, segment: Sequence[Row]) -> bool:
        stored = self.loads.store(
            self.campaign_id,
            segment,
            start=self.stored,
            end=self.position,
            etag=self.etag,
        )
        self.stored = Position(self.position.offset, self.position.line)
        return stored

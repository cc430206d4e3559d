"""An audience, read from where a load stands and stored segment by segment."""

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
from sluice.domain.requests import CampaignRequest, InlineAudience, StoredAudience
from sluice.domain.templates import columns_of
from sluice.domain.texts import texts_of
from sluice.steps.campaign.files import Audiences, open_file

RETRY_SECONDS = 15


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


class Source(Protocol):
    """Where an audience comes from."""

    @property
    def etag(self) -> str:
        """What identifies its content."""

    def rows(self, position: Position) -> Iterator[Row] | None:
        """Yield the rows from a position on, and move it; None where the content has changed."""


def source_of(request: CampaignRequest, audiences: Audiences) -> Source | Refused:
    """Return where the campaign's audience comes from, or why it cannot be read."""
    template = request.template.model_dump(mode="json")
    wanted = Wanted(
        columns_of(template),
        request.numbers,
        timed=request.timed,
        united_states=request.sends_to_the_united_states,
        texts=texts_of(template),
    )
    if isinstance(request.audience, InlineAudience):
        return _Inline(request.audience, wanted)
    return open_file(
        request.audience.s3,
        wanted,
        audiences,
        path="audience.s3",
        ndjson=_format(request.audience) == "ndjson",
    )


def load(
    stored: StoredCampaign, source: Source, *, loads: Loads, clock: Clock, stop_at: float
) -> Carried:
    """Go on with a load where it stands, until it is sealed or the time is over."""
    start = Position(stored.position.offset, stored.position.line)
    work = _Load(stored.campaign_id, start, stored.position, source.etag, loads, clock)
    rows = source.rows(work.position)
    if rows is None:
        return Again(RETRY_SECONDS, "the audience changed while it was opened")
    return work.run(rows, stop_at)


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

"""Campaign: store what was published, load its audience, and carry commands out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Protocol

from sluice.domain.audience import (
    CsvHeader,
    Position,
    RejectedRow,
    Row,
    Wanted,
    csv_rows,
    inline_rows,
    ndjson_rows,
)
from sluice.domain.campaign import StoredCampaign
from sluice.domain.clock import FOREVER, Clock
from sluice.domain.limits import LOAD_SEGMENT_ROWS
from sluice.domain.problems import Problem
from sluice.domain.requests import (
    CampaignRequest,
    CommandRequest,
    InlineAudience,
    StoredAudience,
    request_hash,
)
from sluice.domain.templates import columns_of

LOAD_MARGIN_SECONDS = 60.0
"""A segment and the end of a load fit into this."""
COMMAND_PATIENCE_RECEIVES = 5
COMMAND_RETRY_SECONDS = 15
"""A command may overtake the campaign that it is about: it waits for it about a minute."""
_STATES = {"pause": "paused", "resume": "running", "cancel": "cancelled"}


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
        now: datetime,
    ) -> bool:
        """Store a segment; False where another loader has."""

    def seal(self, campaign_id: int, *, now: datetime) -> None:
        """End the load."""


class Audiences(Protocol):
    """Files of recipients."""

    def etag(self, uri: str) -> str | None:
        """Return what identifies the content; None where there is no such object."""

    def lines(self, uri: str, *, etag: str, offset: int) -> Iterator[bytes] | None:
        """Yield lines from a byte on; None where the content is another one by now."""


class Stops(Protocol):
    """Pauses."""

    def pause_number(self, phone_number_id: str, *, until: datetime, reason: str) -> bool:
        """Stop the number; False: there is none."""

    def resume_number(self, phone_number_id: str) -> bool:
        """Let the number send again; False: there is none."""

    def pause_campaign(self, campaign_id: int, *, until: datetime | None, reason: str) -> None:
        """Stop a running campaign."""

    def command_campaign(self, campaign: str, *, state: str, reason: str | None) -> str | None:
        """Set the state that a person wants; None: there is none."""


@dataclass(frozen=True, slots=True)
class Done:
    """The message is dealt with."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    wake: bool = False
    """There is something to dispatch."""


@dataclass(frozen=True, slots=True)
class Again:
    """The message must come back: there is more to load, or what it is about is not there yet."""

    in_seconds: int
    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The message can never be carried out."""

    reasons: Sequence[str]


Carried = Done | Again | Refused


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
    wanted = Wanted(columns_of(request.template.model_dump(mode="json")), request.numbers)
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
        return Again(COMMAND_RETRY_SECONDS, "the audience changed while it was opened")
    return load.run(rows, deadline - LOAD_MARGIN_SECONDS)


def command(request: CommandRequest, *, receives: int, stops: Stops) -> Carried:
    """Pause, resume or cancel a campaign; pause or resume a number. In force at the next claim."""
    if request.campaign is not None:
        found: object = stops.command_campaign(
            request.campaign, state=_STATES[request.action], reason=request.reason
        )
        subject = f"campaign {request.campaign}"
    else:
        number = request.phone_number_id or ""
        subject = f"number {number}"
        if request.action == "pause":
            reason = request.reason or "a command"
            found = stops.pause_number(number, until=FOREVER, reason=reason) or None
        else:
            found = stops.resume_number(number) or None
    if found is not None:
        return Done({"command": request.action, "state": found}, wake=request.action == "resume")
    if receives < COMMAND_PATIENCE_RECEIVES:
        return Again(COMMAND_RETRY_SECONDS, f"there is no {subject} yet")
    return Refused([f"there is no {subject}"])


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


@dataclass(frozen=True, slots=True)
class _File:
    uri: str
    etag: str
    header: CsvHeader | None
    """None: NDJSON."""
    wanted: Wanted
    audiences: Audiences

    def rows(self, position: Position) -> Iterator[Row] | None:
        lines = self.audiences.lines(self.uri, etag=self.etag, offset=position.offset)
        if lines is None:
            return None
        if self.header is None:
            return ndjson_rows(lines, self.wanted, position)
        if position.offset == 0:
            position.offset += len(next(lines))
            position.line += 1
        return csv_rows(lines, self.header, self.wanted, position)


def _source(
    request: CampaignRequest, wanted: Wanted, audiences: Audiences
) -> _Inline | _File | Refused:
    if isinstance(request.audience, InlineAudience):
        return _Inline(request.audience, wanted)
    uri = request.audience.s3
    etag = audiences.etag(uri)
    lines = audiences.lines(uri, etag=etag, offset=0) if etag is not None else None
    if etag is None or lines is None:
        return Refused([f"audience.s3: {uri} does not exist or may not be read"])
    if _format(request.audience) == "ndjson":
        return _File(uri, etag, None, wanted, audiences)
    first = next(lines, b"")
    header = CsvHeader.parse(first, wanted)
    if isinstance(header, CsvHeader):
        return _File(uri, etag, header, wanted, audiences)
    return Refused([str(problem) for problem in header])


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
                return Again(COMMAND_RETRY_SECONDS, "another loader is at work")
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
            now=self.clock.now(),
        )
        self.stored = Position(self.position.offset, self.position.line)
        return stored


def problems_of(problems: Sequence[Problem]) -> Refused:
    """Return the refusal of a message that is not a request."""
    return Refused([str(problem) for problem in problems])

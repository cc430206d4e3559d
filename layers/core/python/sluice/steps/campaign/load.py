"""An audience, read from where a load stands and stored segment by segment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Protocol

from sluice.domain.audience import AudienceRow, Position, Row, Wanted, inline_rows
from sluice.domain.campaign import StoredCampaign
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.requests import CampaignRequest, InlineAudience, SavedAudience
from sluice.domain.saved import why_unusable
from sluice.domain.templates import columns_of
from sluice.domain.texts import texts_of
from sluice.steps.campaign.files import Audiences, File, open_file
from sluice.steps.campaign.named import SavedAudiences
from sluice.steps.campaign.segments import Source, load_segments


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

    def seal(self, campaign_id: int, *, now: datetime) -> Sequence[str]:
        """End the load, or return why it cannot end."""


def source_of(
    request: CampaignRequest, audiences: Audiences, saved: SavedAudiences
) -> Source[AudienceRow] | Refused:
    """Return where the campaign's audience comes from, or why it cannot be read."""
    templates = [one.model_dump(mode="json") for one in request.templates.values()]
    # Everybody needs what each variant needs, or else its people could not be compared.
    wanted = Wanted(
        frozenset().union(*map(columns_of, templates)),
        request.numbers,
        timed=request.timed,
        united_states=request.sends_to_the_united_states,
        texts=tuple(dict.fromkeys(text for one in templates for text in texts_of(one))),
        sides=request.sides,
    )
    audience = request.audience
    if isinstance(audience, InlineAudience):
        return _Inline(audience, wanted)
    if isinstance(audience, SavedAudience):
        return _saved(audience.saved, wanted, audiences, saved)
    return open_file(audience.s3, wanted, audiences, path="audience.s3", ndjson=audience.is_ndjson)


def _saved(
    name: str, wanted: Wanted, audiences: Audiences, saved: SavedAudiences
) -> File[AudienceRow] | Refused:
    kept = saved.find(name)
    if kept is None or kept.dropped:
        return Refused([f"audience.saved: {why_unusable(name, kept)}"])
    file = open_file(kept.s3, wanted, audiences, path="audience.saved", ndjson=kept.is_ndjson)
    if isinstance(file, File) and file.etag != kept.etag:
        return Refused([f"audience.saved: {kept.s3} is not what it was when it was saved"])
    return file


def load(
    stored: StoredCampaign,
    source: Source[AudienceRow],
    *,
    loads: Loads,
    clock: Clock,
    stop_at: float,
) -> Carried:
    """Go on with a load where it stands, until it is sealed or the time is over."""
    loaded = load_segments(
        source,
        partial(loads.store, stored.campaign_id),
        since=stored.position,
        clock=clock,
        stop_at=stop_at,
    )
    if isinstance(loaded, Again):
        return loaded
    gone = loads.seal(stored.campaign_id, now=clock.now())
    if gone:
        return Refused(gone)
    facts = {"campaign_id": stored.campaign_id, "lines": loaded.lines, "rejected": loaded.rejected}
    return Done(facts, wake=True)


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

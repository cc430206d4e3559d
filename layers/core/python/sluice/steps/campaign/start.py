"""A campaign from what was published to its loaded audience."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from sluice.domain.audit import Origin
from sluice.domain.campaign import StoredCampaign
from sluice.domain.carried import Again, Carried, Done, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.graph import Unavailable
from sluice.domain.limits import AUDIENCE_APART_BYTES, SQS_RECEIVES_MAX
from sluice.domain.media import MediaRef, media_of
from sluice.domain.requests import CampaignRequest, request_hash
from sluice.steps.campaign.check import TemplateCheck
from sluice.steps.campaign.files import Audiences, File
from sluice.steps.campaign.load import Loads, load, source_of
from sluice.steps.campaign.media import HeaderMedia
from sluice.steps.campaign.named import SavedAudiences, awaited
from sluice.steps.campaign.segments import SEGMENT_MARGIN_SECONDS

PATIENCE_SECONDS: Final = 75
PATIENCE_RECEIVES: Final = 9
"""A campaign waits for an answer of Meta's ten minutes: eight times 75 seconds."""

assert PATIENCE_RECEIVES < SQS_RECEIVES_MAX, "it is refused before it is a dead letter"


class Campaigns(Protocol):
    """What clients published."""

    def find(self, campaign: str) -> StoredCampaign | None:
        """Return the campaign that has the client's id."""

    def create(
        self,
        request: CampaignRequest,
        *,
        request_hash: str,
        now: datetime,
        media: Mapping[str, str],
        origin: Origin,
        large: bool,
    ) -> StoredCampaign:
        """Store the campaign, or return the one that has its id."""


class Stops(Protocol):
    """Pauses."""

    def pause_campaign(self, campaign_id: int, *, until: datetime | None, reason: str) -> None:
        """Stop a running campaign."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What must be known, and be with Meta, before a campaign exists."""

    check: TemplateCheck
    media: HeaderMedia

    def prepare(
        self, request: CampaignRequest, *, stop_at: float
    ) -> Mapping[str, str] | Again | Refused | Unavailable:
        """Check the template, upload its media, and return their files with their ETags."""
        problems = self.check.problems(request)
        if isinstance(problems, Unavailable):
            return problems
        refs = _media_of(request)
        files, flaws = self.media.describe(refs)
        if problems or flaws:
            return refusal_of([*problems, *flaws])
        failure = self.media.upload(refs, files, request.numbers, stop_at=stop_at)
        return failure or {file.uri: file.etag for file in files}

    def renew(
        self, request: CampaignRequest, etags: Mapping[str, str], *, stop_at: float
    ) -> Again | Refused | Unavailable | None:
        """Upload the media of a campaign that exists again, if Meta will forget them soon."""
        refs = _media_of(request)
        if self.media.are_young(refs, request.numbers, etags):
            return None
        files, flaws = self.media.describe(refs)
        if flaws:
            return refusal_of(flaws)
        changed = [file.uri for file in files if file.etag != etags.get(file.uri)]
        if changed:
            return Refused([f"template.header: {uri} is not what it was" for uri in changed])
        return self.media.upload(refs, files, request.numbers, stop_at=stop_at)


def start_campaign(
    request: CampaignRequest,
    *,
    receives: int,
    origin: Origin,
    campaigns: Campaigns,
    loads: Loads,
    audiences: Audiences,
    saved: SavedAudiences,
    stops: Stops,
    preparation: Preparation,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Check and store the campaign and load its audience, going on where an earlier try ended.

    Published twice it is one; the same id with another content is refused. ``receives`` says how
    often the message came; ``deadline`` is on ``clock.monotonic()``.
    """
    stop_at = deadline - SEGMENT_MARGIN_SECONDS
    content = request_hash(request)
    stored = campaigns.find(request.campaign)
    if stored is not None and (
        stored.loaded or stored.state == "cancelled" or stored.request_hash != content
    ):
        return _again(
            request, stored, preparation, content=content, receives=receives, stop_at=stop_at
        )
    missing = stored is None and awaited(
        request, receives=receives, saved=saved, campaigns=campaigns
    )
    source = missing or source_of(request, audiences, saved)
    if isinstance(source, Again | Refused):
        return source if stored is None else _stop(source, stored, stops)
    if stored is None:
        made = preparation.prepare(request, stop_at=stop_at)
        if isinstance(made, Again | Refused | Unavailable):
            return _unready(made, receives)
        large = isinstance(source, File) and audiences.size_bytes(source.uri) > AUDIENCE_APART_BYTES
        stored = campaigns.create(
            request,
            request_hash=content,
            now=clock.now(),
            media=made,
            origin=origin,
            large=large,
        )
    if stored.request_hash != content:
        return _conflict(request)
    if stored.audience_etag not in (None, source.etag):
        return _stop(Refused(["the audience changed while it was loading"]), stored, stops)
    carried = load(stored, source, loads=loads, clock=clock, stop_at=stop_at)
    return _stop(carried, stored, stops)


def _stop(carried: Carried, stored: StoredCampaign, stops: Stops) -> Carried:
    """Pause a campaign whose load cannot go on, so that its report says why."""
    if isinstance(carried, Refused):
        stops.pause_campaign(stored.campaign_id, until=None, reason=carried.reasons[0])
    return carried


def _again(
    request: CampaignRequest,
    stored: StoredCampaign,
    preparation: Preparation,
    *,
    content: str,
    receives: int,
    stop_at: float,
) -> Carried:
    """Answer for a campaign that is there already: only its media may need something."""
    if stored.request_hash != content:
        return _conflict(request)
    if stored.state in ("running", "paused"):
        failure = preparation.renew(request, stored.media, stop_at=stop_at)
        if failure is not None:
            return _unready(failure, receives)
    return Done({"campaign_id": stored.campaign_id, "again": True}, wake=True)


def _media_of(request: CampaignRequest) -> list[MediaRef]:
    """The files of all its templates, each once."""
    templates = [template.model_dump(mode="json") for template in request.templates.values()]
    return sorted({ref for template in templates for ref in media_of(template)})


def _unready(failure: Again | Refused | Unavailable, receives: int) -> Carried:
    if not isinstance(failure, Unavailable):
        return failure
    reason = f"Meta could not be asked: {failure.reason}"
    if receives < PATIENCE_RECEIVES:
        return Again(PATIENCE_SECONDS, reason)
    return Refused([reason])


def _conflict(request: CampaignRequest) -> Refused:
    return Refused([f"campaign {request.campaign} exists with another content"])

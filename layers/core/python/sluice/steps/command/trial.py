"""Tests of a campaign, sent to a few people."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.audit import Entry, Origin, about_campaign
from sluice.domain.carried import Carried, Done, Refused
from sluice.domain.media import UPLOAD_VALID
from sluice.domain.models.command import Trial
from sluice.domain.trial import Subject, sends_of
from sluice.steps.command.patience import awaited


class Audit(Protocol):
    """Who did what."""

    def note(self, origin: Origin, entry: Entry) -> bool:
        """Note something, once for each message."""


class Campaigns(Protocol):
    """What campaigns send."""

    def subject(self, campaign: str) -> Subject | None:
        """Return what a test of the campaign would send; None: there is no such campaign."""


class Media(Protocol):
    """Uploads of header media."""

    def ids(self, campaign: str, *, since: datetime) -> Mapping[str, Mapping[str, str]]:
        """Return the ids of the campaign's files: by number, then by URI."""


class Topic(Protocol):
    """Where direct sends are published."""

    def publish_sends(self, sends: Sequence[Mapping[str, Any]]) -> None:
        """Publish messages of kind=send."""


def try_out(
    order: Trial,
    *,
    receives: int,
    origin: Origin,
    audit: Audit,
    campaigns: Campaigns,
    media: Media,
    topic: Topic,
    now: datetime,
) -> Carried:
    """Publish a test of a campaign as direct sends, which their ids make one however often.

    It asks nothing of the campaign's state: a test is for before its start, or while it is paused.
    """
    subject = campaigns.subject(order.campaign)
    if subject is None:
        return awaited(about_campaign(order.campaign), receives)
    media_ids = media.ids(order.campaign, since=now - UPLOAD_VALID) if subject.media else {}
    sends = sends_of(order, subject, media_ids)
    if isinstance(sends, Refused):
        return sends
    details = {"test": order.id, "people": len(order.recipients), "sends": len(sends)}
    # Before the effect: what was sent is noted, whoever dies between.
    audit.note(origin, Entry(order.action, about_campaign(order.campaign), details))
    topic.publish_sends([send.model_dump(mode="json", exclude_none=True) for send in sends])
    return Done({"command": order.action, "sends": len(sends)})

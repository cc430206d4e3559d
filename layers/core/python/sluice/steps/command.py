"""Command: what a person orders about a campaign or a number, in force at the next claim."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, assert_never

from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import FOREVER
from sluice.domain.media import UPLOAD_VALID
from sluice.domain.models.command import Cancel, Prioritise, Steering, StopOrGo, Trial
from sluice.domain.trial import Subject, sends_of

PATIENCE_RECEIVES = 5
RETRY_SECONDS = 15
"""A command may overtake the campaign that it is about: it waits for it about a minute."""


class Stops(Protocol):
    """Pauses."""

    def pause_number(self, phone_number_id: str, *, until: datetime, reason: str) -> bool:
        """Stop the number; False: there is none."""

    def resume_number(self, phone_number_id: str) -> bool:
        """Let the number send again; False: there is none."""

    def command_campaign(self, campaign: str, *, state: str, reason: str | None) -> str | None:
        """Set the state that a person wants; None: there is none."""

    def prioritise(self, campaign: str, *, priority: str) -> bool:
        """Give the campaign this priority; False: there is none."""


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


def command(order: Steering, *, receives: int, stops: Stops) -> Carried:
    """Carry an order out. It waits about a minute for a campaign that it overtook."""
    subject, facts = _obey(order, stops)
    if facts is not None:
        return Done({"command": order.action, **facts}, wake=order.action in _WAKING)
    return _awaited(subject, receives)


def try_out(
    order: Trial,
    *,
    receives: int,
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
        return _awaited(f"campaign {order.campaign}", receives)
    media_ids = media.ids(order.campaign, since=now - UPLOAD_VALID) if subject.media else {}
    sends = sends_of(order, subject, media_ids)
    if isinstance(sends, Refused):
        return sends
    topic.publish_sends([send.model_dump(mode="json", exclude_none=True) for send in sends])
    return Done({"command": order.action, "sends": len(sends)})


def _awaited(subject: str, receives: int) -> Carried:
    if receives < PATIENCE_RECEIVES:
        return Again(RETRY_SECONDS, f"there is no {subject} yet")
    return Refused([f"there is no {subject}"])


_WAKING = ("resume", "prioritise")

_Obeyed = tuple[str, dict[str, str] | None]
"""What it is about, and what it came to; None: there is no such thing."""


def _obey(order: Steering, stops: Stops) -> _Obeyed:
    match order:
        case StopOrGo(phone_number_id=str(number)):
            return f"number {number}", _number(order, number, stops)
        case StopOrGo(campaign=str(campaign)):
            state = "paused" if order.action == "pause" else "running"
            return f"campaign {campaign}", _state(campaign, state, order.reason, stops)
        case StopOrGo():
            raise AssertionError("the model has checked that it has a subject")
        case Cancel(campaign=campaign):
            return f"campaign {campaign}", _state(campaign, "cancelled", order.reason, stops)
        case Prioritise(campaign=campaign, priority=priority):
            found = stops.prioritise(campaign, priority=priority)
            return f"campaign {campaign}", {"priority": priority} if found else None
        case _:
            assert_never(order)


def _state(campaign: str, state: str, reason: str | None, stops: Stops) -> dict[str, str] | None:
    found = stops.command_campaign(campaign, state=state, reason=reason)
    return None if found is None else {"state": found}


def _number(order: StopOrGo, number: str, stops: Stops) -> dict[str, str] | None:
    if order.action == "pause":
        reason = order.reason or "a command"
        return {} if stops.pause_number(number, until=FOREVER, reason=reason) else None
    return {} if stops.resume_number(number) else None

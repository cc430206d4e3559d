"""Command: what a person orders about campaigns, numbers and parked messages."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, assert_never

from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import FOREVER, Clock
from sluice.domain.limits import PARKED_HIDDEN_SECONDS
from sluice.domain.media import UPLOAD_VALID
from sluice.domain.models.command import (
    Cancel,
    EmptyParked,
    Prioritise,
    Steering,
    StopOrGo,
    Trial,
)
from sluice.domain.parked import EVERY, Destination, Parked, destination_of, step_of
from sluice.domain.trial import Subject, sends_of

PATIENCE_RECEIVES = 5
RETRY_SECONDS = 15
"""A command may overtake the campaign that it is about: it waits for it about a minute."""
PARKED_MARGIN_SECONDS = 10.0
"""A batch of parked messages that is begun before the end is ended in time."""
PARKED_AGAIN_SECONDS = 1
PARKED_IDS_TOLD_MAX = 100

Order = StopOrGo | Cancel | Prioritise


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


class ParkedMessages(Protocol):
    """The parked queue."""

    def take(self, *, hidden_seconds: int) -> Sequence[Parked]:
        """Take some, hidden from others for so long; none: no more are to be seen."""

    def show_again(self, parked: Sequence[Parked]) -> None:
        """Let others see them at once."""

    def delete(self, parked: Sequence[Parked]) -> None:
        """Delete them."""


class Returns(Protocol):
    """Where parked messages go back to."""

    def give_back(self, parked: Mapping[Destination, Sequence[Parked]]) -> None:
        """Send all of them, or raise."""


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


@dataclass(slots=True)
class _Emptied:
    """What an order about parked messages came to, so far."""

    done: set[str] = field(default_factory=set)
    """Ids: of a message that was parked twice, one goes back and both are deleted."""
    refused: dict[str, str] = field(default_factory=dict)
    kept: list[Parked] = field(default_factory=list)


def empty_parked(
    order: EmptyParked,
    *,
    receives: int,
    ordered_at: datetime,
    parked: ParkedMessages,
    returns: Returns,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Return or discard parked messages until none is left, or the deadline is near.

    Each is sent before it is deleted: killed between, it is there twice, which every step bears,
    and never gone. What is parked after the order waits for another one, so that a message that is
    parked again at once is not returned for ever.
    """
    emptied = _Emptied()
    while clock.monotonic() < deadline - PARKED_MARGIN_SECONDS:
        batch = parked.take(hidden_seconds=PARKED_HIDDEN_SECONDS)
        if not batch:
            parked.show_again(emptied.kept)
            return _outcome(order, receives, emptied)
        wanted = [one for one in batch if _is_wanted(order, one, ordered_at)]
        emptied.kept += [one for one in batch if one not in wanted]
        if order.action == "return":
            wanted = _give_back(wanted, returns, emptied)
        parked.delete(wanted)
        emptied.done |= {one.id for one in wanted}
    if order.parked != EVERY and emptied.done:
        return _outcome(order, receives, emptied)
    # What was not wanted stays hidden meanwhile: the next run need not read it again.
    return Again(PARKED_AGAIN_SECONDS, "there may be more parked messages", _counts(order, emptied))


def _is_wanted(order: EmptyParked, parked: Parked, ordered_at: datetime) -> bool:
    if parked.at is not None and parked.at > ordered_at:
        return False
    if order.step is not None and step_of(parked.step) != order.step:
        return False
    return order.parked in (EVERY, parked.id)


def _give_back(wanted: Sequence[Parked], returns: Returns, emptied: _Emptied) -> list[Parked]:
    """Send each to where it belongs, once; return those that may be deleted."""
    given: dict[str, Parked] = {}
    groups: dict[Destination, list[Parked]] = defaultdict(list)
    for one in wanted:
        destination = destination_of(one)
        if isinstance(destination, str):
            emptied.refused[one.id] = destination
            emptied.kept.append(one)
        elif one.id not in emptied.done and given.setdefault(one.id, one) is one:
            groups[destination].append(one)
    returns.give_back(groups)
    return [one for one in wanted if one.id not in emptied.refused]


def _outcome(order: EmptyParked, receives: int, emptied: _Emptied) -> Carried:
    if order.parked == EVERY or emptied.done:
        facts = {
            "command": order.action,
            "step": order.step,
            "ids": sorted(emptied.done)[:PARKED_IDS_TOLD_MAX],
            "refused": dict(Counter(emptied.refused.values())),
        }
        return Done(facts, counts=_counts(order, emptied))
    if emptied.refused:
        return Refused([f"parked {name}: {why}" for name, why in emptied.refused.items()])
    if receives < PATIENCE_RECEIVES:
        return Again(RETRY_SECONDS, f"no parked message {order.parked} is to be seen")
    return Refused([f"there is no parked message {order.parked}"])


def _counts(order: EmptyParked, emptied: _Emptied) -> dict[str, int]:
    name = "ParkedReturned" if order.action == "return" else "ParkedDiscarded"
    return {name: len(emptied.done), "ParkedRefused": len(emptied.refused)}

"""Parked messages: returned to where they belong, or discarded."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from sluice.domain.audit import Entry, Origin
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.limits import PARKED_HIDDEN_SECONDS
from sluice.domain.models.command import EmptyParked
from sluice.domain.parked import EVERY, Destination, Parked, destination_of, step_of
from sluice.steps.command.patience import PATIENCE_RECEIVES, RETRY_SECONDS

PARKED_MARGIN_SECONDS = 10.0
"""A batch of parked messages that is begun before the end is ended in time."""
PARKED_AGAIN_SECONDS = 1
PARKED_IDS_TOLD_MAX = 100


class Audit(Protocol):
    """Who did what."""

    def note(self, origin: Origin, entry: Entry) -> bool:
        """Note something, once for each message."""


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
    origin: Origin,
    audit: Audit,
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
    # Before the effect, as a test is.
    audit.note(origin, Entry(order.action, f"parked {order.parked}", {"step": order.step}))
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

"""Orders that change how a campaign or a number goes on."""

from datetime import datetime
from typing import Protocol, assert_never

from sluice.domain.audit import Origin, about_campaign, about_number
from sluice.domain.carried import Carried, Done
from sluice.domain.clock import FOREVER
from sluice.domain.models.command import Cancel, Prioritise, Steering, StopOrGo
from sluice.steps.command.patience import awaited


class Orders(Protocol):
    """Orders that are carried out and noted."""

    def pause_number(
        self, phone_number_id: str, *, until: datetime, reason: str, origin: Origin
    ) -> bool:
        """Stop the number; False: there is none."""

    def resume_number(self, phone_number_id: str, *, reason: str | None, origin: Origin) -> bool:
        """Let the number send again; False: there is none."""

    def command_campaign(
        self, campaign: str, *, state: str, reason: str | None, origin: Origin
    ) -> str | None:
        """Set the state that a person wants; None: there is none."""

    def prioritise(
        self, campaign: str, *, priority: str, reason: str | None, origin: Origin
    ) -> bool:
        """Give the campaign this priority; False: there is none."""


def steer(order: Steering, *, receives: int, origin: Origin, orders: Orders) -> Carried:
    """Carry an order out. It waits about a minute for a campaign that it overtook."""
    subject, facts = _obey(order, origin, orders)
    if facts is not None:
        return Done({"command": order.action, **facts}, wake=order.action in _WAKING)
    return awaited(subject, receives)


_WAKING = ("resume", "prioritise")

_Obeyed = tuple[str, dict[str, str] | None]
"""What it is about, and what it came to; None: there is no such thing."""


def _obey(order: Steering, origin: Origin, orders: Orders) -> _Obeyed:
    match order:
        case StopOrGo(phone_number_id=str(number)):
            return about_number(number), _number(order, number, origin, orders)
        case StopOrGo(campaign=str(campaign)):
            state = "paused" if order.action == "pause" else "running"
            found = _state(campaign, state, order.reason, origin, orders)
            return about_campaign(campaign), found
        case StopOrGo():
            raise AssertionError("the model has checked that it has a subject")
        case Cancel(campaign=campaign):
            found = _state(campaign, "cancelled", order.reason, origin, orders)
            return about_campaign(campaign), found
        case Prioritise(campaign=campaign, priority=priority):
            known = orders.prioritise(
                campaign, priority=priority, reason=order.reason, origin=origin
            )
            return about_campaign(campaign), {"priority": priority} if known else None
        case _:
            assert_never(order)


def _state(
    campaign: str, state: str, reason: str | None, origin: Origin, orders: Orders
) -> dict[str, str] | None:
    found = orders.command_campaign(campaign, state=state, reason=reason, origin=origin)
    return None if found is None else {"state": found}


def _number(order: StopOrGo, number: str, origin: Origin, orders: Orders) -> dict[str, str] | None:
    if order.action == "pause":
        reason = order.reason or "a command"
        found = orders.pause_number(number, until=FOREVER, reason=reason, origin=origin)
    else:
        found = orders.resume_number(number, reason=order.reason, origin=origin)
    return {} if found else None

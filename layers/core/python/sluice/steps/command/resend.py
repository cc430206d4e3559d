"""Orders to send again to those whom a scope names."""

from datetime import datetime
from typing import Protocol

from sluice.domain.audit import Origin, about_campaign
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.models.command import Resend
from sluice.domain.requests import request_hash
from sluice.domain.resends import StoredResend
from sluice.steps.command.patience import awaited

MARGIN_SECONDS = 15.0
"""A page that is begun before the end is ended in time."""
AGAIN_SECONDS = 1


class Resends(Protocol):
    """Orders to send again, and how far they have come."""

    def begin(
        self, order: Resend, *, request_hash: str, now: datetime, origin: Origin
    ) -> StoredResend | str | None:
        """Store and note the order, or return it; a text: why it may not be; None: no campaign."""

    def take(
        self, campaign_id: int, resend_id: str, *, now: datetime, above: int | None
    ) -> StoredResend:
        """Return the deliveries of the next page to pending.

        With the first one the campaign is held, if the order goes to more people than ``above``.
        """


def resend(
    order: Resend,
    *,
    receives: int,
    origin: Origin,
    resends: Resends,
    approval_above: int | None,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Return the scope's deliveries to pending, page by page, until the deadline is near.

    The order stores how far it has come, with each page: killed, or published twice, it goes on
    there, and no position of the audience is looked at twice. What goes to more people than
    ``approval_above`` waits for an approval; None: nothing does.
    """
    content = request_hash(order)
    stored = resends.begin(order, request_hash=content, now=clock.now(), origin=origin)
    if stored is None:
        return awaited(about_campaign(order.campaign), receives)
    if isinstance(stored, str):
        return Refused([stored])
    if stored.request_hash != content:
        return Refused([f"the resend {order.id} of this campaign exists with another content"])
    before = stored.taken
    while not stored.finished and clock.monotonic() < deadline - MARGIN_SECONDS:
        stored = resends.take(stored.campaign_id, order.id, now=clock.now(), above=approval_above)
    counts = {"Resent": stored.taken - before}
    if not stored.finished:
        return Again(AGAIN_SECONDS, "there may be more to send again", counts)
    if stored.stopped is not None:
        return Refused([f"{stored.stopped}; {stored.taken} are sent again"])
    facts = {"command": order.action, "scope": order.scope, "taken": stored.taken}
    return Done(facts, wake=stored.taken > 0, counts=counts)

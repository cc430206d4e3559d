"""Approve: what a second person decides about a campaign that is held."""

from datetime import datetime
from typing import Protocol

from sluice.domain.approval import Standing, Verdict, verdict
from sluice.domain.audit import Origin, about_campaign
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.models.command import Decision

PATIENCE_RECEIVES = 5
RETRY_SECONDS = 15
"""An approval waits about a minute for the end of a load, or for its campaign."""


class Approvals(Protocol):
    """Campaigns that are held."""

    def standing(self, campaign: str) -> Standing | None:
        """Return how the campaign stands; None: there is none."""

    def decide(self, order: Decision, *, origin: Origin, now: datetime) -> Verdict | None:
        """Let it go, or end it; None: it is not held any more; AGAIN: this message did before."""


def approve(
    order: Decision, *, receives: int, origin: Origin, approvals: Approvals, now: datetime
) -> Carried:
    """Take a decision of whom SQS names. What is not loaded cannot be approved."""
    if origin.via != "principal" or origin.actor is None:
        return Refused(["nobody can tell who sent this"])
    subject = about_campaign(order.campaign)
    standing = approvals.standing(order.campaign)
    found = Verdict.EARLY if standing is None else verdict(order, standing)
    if found is Verdict.NOW:
        decided = approvals.decide(order, origin=origin, now=now)
        if decided is None:
            return Again(1, f"{subject} changed meanwhile")
        found = decided
    match found:
        case Refused():
            return found
        case Verdict.EARLY if receives < PATIENCE_RECEIVES:
            return Again(RETRY_SECONDS, f"{subject} is not loaded yet")
        case Verdict.EARLY:
            return Refused([f"{subject} is not loaded: only what is loaded can be approved"])
    facts = {"approval": order.action, "campaign": order.campaign}
    return Done({**facts, "again": found is Verdict.AGAIN}, wake=found is Verdict.NOW)

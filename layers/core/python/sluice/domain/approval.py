"""Approval: whether a second person may let a campaign go, or end it, as it stands."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from sluice.domain.carried import Refused

if TYPE_CHECKING:
    from sluice.domain.models.command import Decision

AWAITED: Final = "awaited"
GIVEN: Final = "given"
DECLINED: Final = "declined"
_OUTCOMES: Final = {"approve": GIVEN, "decline": DECLINED}

BY_THE_TOPIC: Final = (
    "approve and decline do not count by the topic: an approver sends them to the queue approvals"
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A campaign, as far as its approval depends on it."""

    state: str
    loaded: bool
    approval: str | None
    request_hash: str


class Verdict(Enum):
    """What becomes of a decision that is not refused."""

    NOW = "it counts"
    AGAIN = "it was taken already"
    EARLY = "what it is about is not loaded"


def verdict(order: "Decision", standing: Standing) -> Verdict | Refused:
    """Return what becomes of a decision."""
    if order.request_hash not in (None, standing.request_hash):
        return Refused([f"campaign {order.campaign} has another request_hash"])
    if standing.approval == _OUTCOMES[order.action]:
        return Verdict.AGAIN
    problem = _problem(standing)
    if problem is not None:
        return Refused([f"campaign {order.campaign} {problem}"])
    return Verdict.NOW if standing.loaded else Verdict.EARLY


def _problem(standing: Standing) -> str | None:
    if standing.state in ("cancelled", "finished"):
        return "has ended"
    if standing.approval == GIVEN:
        return "is approved already: cancel it"
    if standing.loaded and standing.approval is None:
        return "needs no approval"
    return None

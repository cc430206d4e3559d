"""What only the rows of a campaign tell: attempts, errors, times, cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from sluice.domain.cost import Prices, cost_document, cost_of, kinds_document
from sluice.domain.delivery import State
from sluice.domain.limits import REPORT_DETAILS_SECONDS
from sluice.domain.results import SUPPRESSED
from sluice.domain.summary import (
    Details,
    Spread,
    Times,
    attempts_of,
    billing_of,
    count_where,
    errors_of,
    first_attempt_success,
    numbers_of,
    sample_of,
)
from sluice.domain.variants import variants_of

SAMPLED_MAX = 5_000


class Rows(Protocol):
    """The deliveries of a campaign."""

    def details(self, campaign_id: int) -> Details | None:
        """Read every row of the campaign; None: that took too long."""

    def times(self, campaign_id: int, seqs: Sequence[int]) -> Times:
        """Return how long these deliveries took."""


def details(row: Mapping[str, Any], rows: Rows, prices: Prices) -> dict[str, Any]:
    """Return them as JSON; a part that takes too long is left out and says so."""
    seqs = sample_of(row["loaded_rows"], size=SAMPLED_MAX)
    told = _times(rows.times(row["campaign_id"], seqs), asked=len(seqs), of=row["loaded_rows"])
    found = rows.details(row["campaign_id"])
    if found is None:
        seconds = REPORT_DETAILS_SECONDS
        return {"problem": f"reading every row took longer than {seconds} s", "times": told}
    groups = found.groups
    return {
        "attempts": attempts_of(groups),
        "first_attempt_success": first_attempt_success(groups),
        "errors": errors_of(groups, found.errors),
        "billing": _billing(found, prices),
        "times": told,
        "unknown_left": count_where(groups, state=State.UNKNOWN, waits=False),
        "suppressed": {
            "at_load": sum(n for why, n in found.reasons if why.startswith("suppressed: ")),
            "before_sending": count_where(groups, state=State.FAILED, error_code=SUPPRESSED),
        },
        "rejected": dict(found.reasons),
        "numbers": numbers_of(groups),
        "variants": variants_of(groups, row["variants"]),
    }


def _billing(found: Details, prices: Prices) -> dict[str, Any]:
    billing = billing_of(found.groups)
    return {
        "billable": sum(billing.billable.values()),
        "free": billing.free,
        "untold": billing.untold,
        "by_kind": kinds_document(billing.billable.items()),
        "cost": cost_document(cost_of(billing.billable, prices), prices),
    }


def _times(times: Times, *, asked: int, of: int) -> dict[str, Any]:
    return {
        "sample": {"positions": asked, "of": of, "found": times.found},
        "accepted_to_sent_seconds": _spread(times.accepted_to_sent),
        "sent_to_delivered_seconds": _spread(times.sent_to_delivered),
    }


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    return asdict(spread) if spread else None

"""Sending again what a person orders: which deliveries a scope has, and what they would cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from sluice.domain.cost import Kind, Prices, cost_document, cost_of
from sluice.domain.erasure import ERASED
from sluice.domain.error_rows import ERRORS, Action
from sluice.domain.results import SUPPRESSED, TOO_OFTEN, UNANSWERED, UNRENDERABLE, WINDOW_CLOSED
from sluice.domain.summary import meaning_of

Scope = Literal["pending", "failed_retryable", "failed", "unknown"]

RETRYABLE_CODES: Final = frozenset(
    {code for code, row in ERRORS.items() if row.action is not Action.FAIL}
    | {SUPPRESSED, TOO_OFTEN}
)
"""Codes whose cause may be gone by now: it lies with Meta, the number, the account, the template or
the request, all of which a person can mend. Those that lie with the recipient are not among them,
nor what the table does not have. Of people who were suppressed only those are taken who are not any
more; of those who had too much marketing the claim asks again."""
NEVER_CODES: Final = frozenset({UNRENDERABLE, WINDOW_CLOSED})
"""Our own: what the audience has stays as it is."""
UNKNOWN_CODES: Final = frozenset({UNANSWERED})

CLASSES: Final[Mapping[Scope, Sequence[str]]] = {
    "pending": ("expired",),
    "failed_retryable": ("retryable",),
    "failed": ("retryable", "failed"),
    "unknown": ("unknown",),
}
"""Scope to the classes of deliveries that it has, as the statement names them."""


@dataclass(frozen=True, slots=True)
class StoredResend:
    """An order to send again, as far as it has come."""

    campaign_id: int
    request_hash: str
    taken: int
    finished: bool
    stopped: str | None = None
    """Why it ended early."""


class Subject(NamedTuple):
    """What decides whether a campaign may be sent again."""

    state: str
    start_at: datetime | None
    expires_at: datetime | None


def hindrance(subject: Subject, *, expires_at: datetime | None, now: datetime) -> str | None:
    """Why nothing of a campaign may be sent again, if the order gives it this end; None: it may."""
    if subject.state in ("cancelled", ERASED):
        return f"the campaign is {subject.state}"
    if expires_at is None:
        if subject.expires_at is not None and subject.expires_at <= now:
            return f"the campaign expired at {subject.expires_at.isoformat()}: give expires_at"
        return None
    if expires_at <= now:
        return "expires_at is over"
    if subject.start_at is not None and expires_at <= subject.start_at:
        return "expires_at is not after the campaign's start_at"
    return None


class Candidates(NamedTuple):
    """Deliveries of a scope that are alike."""

    error_code: int | None
    country_code: int | None
    suppressed: bool
    """The person is suppressed by now: left out."""
    deliveries: int


def people_in(candidates: Iterable[Candidates]) -> int:
    """How many of them an order would send to."""
    return sum(one.deliveries for one in candidates if not one.suppressed)


def preview_document(
    candidates: Iterable[Candidates], *, category: str, prices: Prices
) -> dict[str, Any]:
    """What an order would send again, and what that would cost, as JSON."""
    codes: Counter[int | None] = Counter()
    countries: Counter[int | None] = Counter()
    suppressed = 0
    for one in candidates:
        if one.suppressed:
            suppressed += one.deliveries
            continue
        codes[one.error_code] += one.deliveries
        countries[one.country_code] += one.deliveries
    kinds = {Kind(country, category): count for country, count in countries.items()}
    return {
        "deliveries": codes.total(),
        "suppressed": suppressed,
        "by_code": [
            {"code": code, "meaning": meaning_of(code) if code else None, "deliveries": count}
            for code, count in codes.most_common()
        ],
        "by_country": [
            {"country_code": country, "deliveries": count}
            for country, count in countries.most_common()
        ],
        "cost": cost_document(cost_of(kinds, prices), prices),
    }

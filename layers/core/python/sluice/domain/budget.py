"""How many people a business portfolio may still write to, and how its numbers share that."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from sluice.domain.delivery import INTEGER_MAX

UNLIMITED: Final = -1
"""As Meta writes that a portfolio has no daily limit, where it does not write TIER_UNLIMITED."""
_TIER: Final = re.compile(r"TIER_([0-9]{1,9})(K|M)?")
_FACTORS: Final = {None: 1, "K": 1_000, "M": 1_000_000}


def limit_of(told: object) -> int | None:
    """People in 24 hours that a limit of Meta's says: ``"TIER_2K"``, ``2000``, ``"2000"``.

    UNLIMITED for ``-1`` and ``"TIER_UNLIMITED"``; None for what says no limit.
    """
    text = str(told).upper() if isinstance(told, str | int) and not isinstance(told, bool) else ""
    if text in {"TIER_UNLIMITED", str(UNLIMITED)}:
        return UNLIMITED
    tier = _TIER.fullmatch(text if text.startswith("TIER_") else f"TIER_{text}")
    limit = int(tier[1]) * _FACTORS[tier[2]] if tier else 0
    return limit if 0 < limit <= INTEGER_MAX else None


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a portfolio with a limit has used of it: a rolling 24 h of people, not of messages.

    Meta, messaging limits: unique people outside a customer service window, of all numbers of the
    portfolio together. Whom we wrote to within an open window counts here too.
    """

    portfolio_id: str
    daily_limit: int
    contacted: int
    """People who were written to within 24 hours."""
    queued: int
    """Deliveries that its numbers have queued. Each counts, even to somebody already contacted."""
    phone_number_ids: tuple[str, ...]

    @property
    def left(self) -> int:
        """Deliveries that may still be queued."""
        return max(0, self.daily_limit - self.contacted - self.queued)

    def after(self, taken: Mapping[str, int]) -> Self:
        """Return what it is once numbers have queued so many more."""
        more = sum(taken.get(number, 0) for number in self.phone_number_ids)
        return replace(self, queued=self.queued + more)


class Budgets:
    """What each portfolio has left while a plan is made."""

    def __init__(self, allowances: Sequence[Allowance], *, waiting: Collection[str]) -> None:
        """``waiting`` are the numbers among which it is shared."""
        self._portfolio_of = {
            number: allowance.portfolio_id
            for allowance in allowances
            for number in allowance.phone_number_ids
        }
        self._left = {allowance.portfolio_id: allowance.left for allowance in allowances}
        self._waiting = Counter(self._portfolio_of.get(number) for number in set(waiting))

    def grant(self, phone_number_id: str, rows: int) -> int:
        """Return how many of ``rows`` the number may take now: its part of what is left."""
        portfolio_id = self._portfolio_of.get(phone_number_id)
        if portfolio_id is None:
            return rows
        part = -(-self._left[portfolio_id] // max(1, self._waiting[portfolio_id]))
        return min(rows, part)

    def take(self, phone_number_id: str, rows: int) -> None:
        """Use it up."""
        portfolio_id = self._portfolio_of.get(phone_number_id)
        if portfolio_id is not None:
            self._left[portfolio_id] -= rows

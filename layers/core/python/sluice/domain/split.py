"""Which variant of a campaign a person gets, or none: by a hash that anybody can recompute.

``place`` is the first 48 bits of SHA-256 of ``key:match_key`` in UTF-8, divided by 2^48: a number
from 0 to below 1, exact as a double. Below ``holdout`` the person is held out. The rest belongs to
the variants, in their order, each with its share of the rest; what the shares leave gets the
campaign's own template. See docs/decisions/0019.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

HELD_OUT: Final = -1
"""The side of who is sent nothing."""
NO_VARIANT: Final = 0
"""The side of who gets the campaign's own template. Variants count from 1."""
_BYTES: Final = 6
_PLACES: Final = 1 << (8 * _BYTES)
_DECIMALS: Final = 12
"""Shares of tenths that sum to 1 must end at 1."""


def place_of(key: str, match_key: str) -> float:
    """Where a person stands between 0 and 1, wherever this key is used."""
    digest = hashlib.sha256(f"{key}:{match_key}".encode()).digest()
    return int.from_bytes(digest[:_BYTES], "big") / _PLACES


def total_of(shares: Iterable[float]) -> float:
    """The sum of shares as it was meant: 0.1 and 0.2 are 0.3."""
    return round(sum(shares), _DECIMALS)


@dataclass(frozen=True, slots=True)
class Sides:
    """A campaign's split: the same people have the same side, however often it is asked."""

    key: str
    edges: tuple[float, ...]
    """Where the holdout ends, then each variant."""

    @classmethod
    def of(cls, key: str, *, holdout: float, shares: Iterable[float]) -> "Sides":
        """Cut 0 to 1: the holdout first, then the variants by their shares of the rest."""
        totals = accumulate(shares, initial=0.0)
        edges = (round(holdout + (1 - holdout) * total, _DECIMALS) for total in totals)
        return cls(key, tuple(edges))

    def side(self, match_key: str) -> int:
        """HELD_OUT, NO_VARIANT, or the variant's place from 1 on."""
        passed = bisect_right(self.edges, place_of(self.key, match_key))
        if passed == 0:
            return HELD_OUT
        return passed if passed < len(self.edges) else NO_VARIANT

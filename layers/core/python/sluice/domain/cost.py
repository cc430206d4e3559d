"""What messages cost by a list of prices; an unknown price is counted, never guessed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from sluice.domain.pricing import CATEGORIES

_CODES: Final = "|".join(CATEGORIES)
Rates = dict[
    Annotated[str, Field(pattern=rf"^(?:{_CODES})$")],
    Annotated[Decimal, Field(ge=0, max_digits=12)],
]
"""Category to the price of one message."""


class Prices(BaseModel):
    """The file ``prices.json``, which its user keeps true."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    as_of: date
    source: str
    rates: dict[Annotated[str, Field(pattern=r"^[1-9][0-9]{0,2}$")], Rates]
    """Calling code, without the +, to its rates."""
    default: Rates
    """For every market that ``rates`` does not have; empty: their price is unknown."""

    def rate(self, kind: "Kind") -> Decimal | None:
        """The price of one message; None: nobody wrote it down, or nobody knows the market."""
        if kind.country_code is None:
            return None
        rates = self.rates.get(str(kind.country_code), self.default)
        return rates.get(kind.category)


class Kind(NamedTuple):
    """What a price depends on."""

    country_code: int | None
    """None: a BSUID, which tells no market."""
    category: str
    """One of ``pricing.CATEGORIES``."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What messages cost, as far as their prices are known."""

    amount: Decimal
    currency: str
    priced: int
    """Messages that the amount is of."""
    unpriced: Mapping[Kind, int] = field(default_factory=dict)
    """Messages that it leaves out, because their price is unknown."""

    @property
    def known(self) -> bool:
        """Whether the amount is that of every message."""
        return not self.unpriced


def cost_of(counts: Mapping[Kind, int], prices: Prices) -> Cost:
    """What so many messages of each kind cost: those that were sent, or are to be sent."""
    rates = {kind: prices.rate(kind) for kind in counts}
    priced = {kind: rate for kind, rate in rates.items() if rate is not None}
    return Cost(
        sum((counts[kind] * rate for kind, rate in priced.items()), Decimal(0)),
        prices.currency,
        sum(counts[kind] for kind in priced),
        {kind: count for kind, count in counts.items() if kind not in priced and count},
    )


def cost_document(cost: Cost, prices: Prices) -> dict[str, Any]:
    """A cost as JSON, with what it was reckoned by. Money is text: no float holds it."""
    return {
        "amount": str(cost.amount),
        "currency": cost.currency,
        "known": cost.known,
        "priced": cost.priced,
        "unpriced": kinds_document(cost.unpriced.items()),
        "prices_as_of": prices.as_of.isoformat(),
        "prices_source": prices.source,
    }


def kinds_document(counts: Iterable[tuple[Kind, int]]) -> list[dict[str, Any]]:
    """Counts by kind as JSON, the largest first."""
    return [
        {"country_code": kind.country_code, "category": kind.category, "messages": count}
        for kind, count in sorted(counts, key=lambda item: (-item[1], str(item[0])))
    ]

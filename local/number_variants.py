"""The audience of ``mexico-and-brazil``: one person's number written in two ways.

WhatsApp knows a person by one number, and people write another: Mexico with or without a 1 after
the country code, Brazil with or without the ninth digit, Argentina with or without a 9. The same
person must be sent once, at the number as it was first given; who stops under the number as
WhatsApp writes it must be found; and landlines, which have no ninth digit, are nobody else's.

Nobody has these numbers: no area code of Brazil is 25, none of Mexico 200, none of Argentina 100.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

FILE: Final = "mexico_and_brazil.csv"
COLUMNS: Final = ("address", "name", "clinic", "date")
ONCE: Final = 40
"""People of a country who come once, half of them written in the one way and half in the other."""
TWICE: Final = 20
"""And those who come twice, once in each way."""
LANDLINES: Final = 30
STOPS: Final = 6
"""Of those who come once, how many of a country have asked to stop."""


@dataclass(frozen=True)
class Country:
    """Two ways to write its numbers; ``known`` is the one by which WhatsApp knows a person."""

    one: str
    other: str
    known: str


COUNTRIES: Final = (
    Country("+52{}", "+521{}", known="+52{}"),
    Country("+5525{}", "+55259{}", known="+5525{}"),
    Country("+54{}", "+549{}", known="+549{}"),
)
_LOCAL: Final = ("2000000{:03}", "60000{:03}", "1000000{:03}")
_LANDLINE: Final = "+552530000{:03}"
_LOOKALIKE: Final = "+5525930000{:03}"
"""What a careless program makes of a landline: somebody else's number."""


def rows() -> list[tuple[str, ...]]:
    """The rows of the CSV without its header."""
    people = [*_once(), *(address for pair in _twice() for address in pair[:1]), *_landlines()]
    again = [pair[1] for pair in _twice()]
    return [(address, f"Person {place}", "City Clinic", "2026-12-07")
            for place, address in enumerate([*people, *again], start=1)]  # fmt: skip


def csv_bytes() -> bytes:
    """The file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows(rows())
    return text.getvalue().encode()


def stopping() -> tuple[str, ...]:
    """Who asks to stop before the campaign, as WhatsApp writes them: digits without a +."""
    mobile = [
        country.known.format(local.format(place))
        for country, local in zip(COUNTRIES, _LOCAL, strict=True)
        for place in range(STOPS)
    ]
    return tuple(address.removeprefix("+") for address in [*mobile, _LANDLINE.format(0)])


def sent_to() -> frozenset[str]:
    """Who must be sent to, each at the number as it was first given."""
    stopped = {address for address, place in _placed_once() if place < STOPS}
    firsts = {pair[0] for pair in _twice()}
    return frozenset({*_once(), *firsts, *_landlines()} - stopped - {_LANDLINE.format(0)})


def rejected() -> int:
    """How many rows are not sent: the second ways, and who stopped."""
    return len(rows()) - len(sent_to())


def _placed_once() -> Iterator[tuple[str, int]]:
    """Those who stop are written as WhatsApp does not write them."""
    for country, local in zip(COUNTRIES, _LOCAL, strict=True):
        strange = country.other if country.known == country.one else country.one
        for place in range(ONCE):
            way = strange if place < STOPS or place % 2 else country.known
            yield way.format(local.format(place)), place


def _once() -> list[str]:
    return [address for address, _ in _placed_once()]


def _twice() -> list[tuple[str, str]]:
    """How a person is given first, and how again."""
    pairs = [
        (country.one.format(local.format(place)), country.other.format(local.format(place)))
        for country, local in zip(COUNTRIES, _LOCAL, strict=True)
        for place in range(ONCE, ONCE + TWICE)
    ]
    return [pair if place % 2 else pair[::-1] for place, pair in enumerate(pairs)]


def _landlines() -> list[str]:
    landlines = [_LANDLINE.format(place) for place in range(LANDLINES)]
    return [*landlines, *(_LOOKALIKE.format(place) for place in range(0, LANDLINES, 3))]

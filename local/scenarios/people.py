"""Whom the campaigns of scenarios are sent to."""

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from local import sample_audience
from local.cloud_api.messages import wa_id_of

UNITED_STATES: Final = ("202", "212", "312", "415", "503", "713", "808")
"""Area codes of the sample audience; 416, 604 and 902 are Canada's."""


@cache
def people() -> tuple[dict[str, str], ...]:
    """Return everybody in the sample audience once, without the rows that cannot be sent."""
    return tuple(
        dict(zip(sample_audience.COLUMNS, row, strict=True)) for row in sample_audience.people()
    )


def in_the_united_states(person: Mapping[str, str]) -> bool:
    """Whether Meta delivers no marketing to a person of the sample audience."""
    return person["address"].removeprefix("+1").startswith(UNITED_STATES) and person[
        "address"
    ].startswith("+1")


def abroad() -> list[dict[str, str]]:
    """Return the people of the sample audience whom marketing reaches."""
    return [person for person in people() if not in_the_united_states(person)]


def addresses(some: Sequence[Mapping[str, str]]) -> list[str]:
    """Return where they are sent to."""
    return [person["address"] for person in some]


def known_by(address: str) -> str:
    """Return the digits by which WhatsApp knows somebody."""
    return wa_id_of(address.removeprefix("+"))


def csv_of(some: Sequence[Mapping[str, str]]) -> bytes:
    """Return a file of them, with every column that one of them has."""
    columns = list(dict.fromkeys(name for person in some for name in person))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(some)
    return text.getvalue().encode()

"""JSON from outside, read without surprises."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

LEVELS_MAX: Final = 100
"""Objects and lists in each other. Meta's have about ten."""


def json_object(content: bytes) -> dict[str, Any] | None:
    """Return the JSON object that the bytes hold; None for anything else. Never raises.

    Numbers that JSON cannot write again (NaN, Infinity, 1e999) make it something else, and so do
    more than LEVELS_MAX levels: how deep Python reads depends on its version and on who asks, and
    how deep it writes is another number, so that what was just read might never be written.
    """
    try:
        document = json.loads(content, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and _is_shallow(document) else None


def _is_shallow(document: object) -> bool:
    level = [document]
    for _ in range(LEVELS_MAX):
        level = [inner for outer in level for inner in _inner(outer) if isinstance(inner, _NESTING)]
        if not level:
            return True
    return False


_NESTING: Final = (dict, list)


def _inner(outer: object) -> Iterator[object]:
    match outer:
        case dict():
            return iter(outer.values())
        case list():
            return iter(outer)
    return iter(())


def mappings_in(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list of JSON; none where it is no list."""
    if not isinstance(value, list | tuple):
        return []
    return [one for one in value if isinstance(one, Mapping)]


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError("is not a number of JSON")
    return value

"""JSON from outside, read without surprises."""

import json
import math
from collections.abc import Mapping
from typing import Any


def json_object(content: bytes) -> dict[str, Any] | None:
    """Return the JSON object that the bytes hold; None for anything else. Never raises.

    Numbers that JSON cannot write again (NaN, Infinity, 1e999) make it something else.
    """
    try:
        document = json.loads(content, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def mappings_in(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list of JSON; none where it is no list."""
    if not isinstance(value, list | tuple):
        return []
    return [one for one in value if isinstance(one, Mapping)]


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError("is not a number of JSON")
    return value

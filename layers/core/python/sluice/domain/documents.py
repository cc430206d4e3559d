"""JSON from outside, read without surprises."""

import json
import math
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


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError("is not a number of JSON")
    return value

"""Errors are rows of policy: what an answer or an error of the Cloud API comes to.

It serves the answers to requests and the errors of ``failed`` statuses. It is built on ``code``
and ``error_data.details``; Meta deprecates titles, and the HTTP status of an error says nothing
that its code does not say better.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, Final

from sluice.domain.delivery import INTEGER_MAX, integer_of, is_wamid
from sluice.domain.error_rows import ERRORS, FAILED_ERRORS, MINUTE, Action, Row
from sluice.domain.outcomes import (
    Accepted,
    Failed,
    Failure,
    Outcome,
    PauseAccount,
    PauseCampaign,
    PauseNumber,
    Refusal,
    Retry,
    Throttled,
    Unknown,
)

__all__ = [
    "ERRORS",
    "Accepted",
    "Failed",
    "Failure",
    "Outcome",
    "PauseAccount",
    "PauseCampaign",
    "PauseNumber",
    "Refusal",
    "Retry",
    "Row",
    "Throttled",
    "Unknown",
    "classify",
    "classify_answer",
    "details_of",
    "wait_seconds_of",
]

DETAILS_CHARACTERS_MAX: Final = 500
WAIT_SECONDS_MAX: Final = 86_400.0
"""A wait that Meta asks for is believed up to a day."""
HELD: Final = "held_for_quality_assessment"

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_OK: Final = 200
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 401, 403, 404, 429
_CLIENT_ERRORS, _SERVER_ERRORS = 400, 500
_THROTTLE_SECONDS: Final = 3.0


def classify(
    code: int, details: str, wait_seconds: float | None = None, *, failed: bool = False
) -> Refusal:
    """What an error of the Cloud API comes to.

    ``wait_seconds`` is how long Meta asks to wait, where the answer said so: a wait of the table
    that ends by itself is never shorter. ``failed``: Meta had accepted the message, and gave it up.
    """
    row = FAILED_ERRORS.get(code) if failed else None
    row = row or ERRORS.get(code)
    if row is None:
        return Failed(code, details, recognised=False, systemic=True)
    if row.recipient_details and row.recipient_details.search(details):
        return Failed(code, details)
    return _refusal(_waiting(row, wait_seconds), code, details)


def _waiting(row: Row, wait_seconds: float | None) -> Row:
    if wait_seconds is None:
        return row
    if row.action in (Action.RETRY, Action.RETRY_PAIR):
        return replace(row, after_seconds=max(row.after_seconds, wait_seconds))
    if row.for_seconds is None:
        return row
    return replace(row, for_seconds=max(row.for_seconds, wait_seconds))


def _refusal(row: Row, code: int, details: str) -> Refusal:
    match row.action:
        case Action.FAIL | Action.FAIL_SYSTEMIC:
            return Failed(code, details, systemic=row.action is Action.FAIL_SYSTEMIC)
        case Action.RETRY | Action.RETRY_PAIR:
            return Retry(
                code,
                details,
                after_seconds=row.after_seconds,
                base_seconds=row.base_seconds,
                cap_seconds=row.cap_seconds,
                tries_max=row.tries_max,
                pair=row.action is Action.RETRY_PAIR,
                rising=row.rising,
                systemic=row.systemic,
                outage=row.outage,
            )
        case Action.THROTTLE:
            return Throttled(code, details, row.for_seconds or 0.0)
        case Action.PAUSE_CAMPAIGN:
            return PauseCampaign(code, details, row.for_seconds)
        case Action.PAUSE_NUMBER:
            return PauseNumber(code, details, row.for_seconds, row.longest_seconds)
        case Action.PAUSE_ACCOUNT:
            return PauseAccount(
                code, details, row.for_seconds, row.longest_seconds, whole_app=row.whole_app
            )


def classify_answer(
    http_status: int, body: bytes, headers: Mapping[str, str] = _NO_HEADERS
) -> Outcome:
    """What an answer of ``POST /{phone_number_id}/messages`` comes to; never raises.

    An error of Meta's counts by its code whatever the HTTP status is; the status counts only
    where there is none. ``headers`` are read for how long Meta asks to wait.
    """
    document = _json_object(body)
    error = document.get("error")
    if isinstance(error, dict):
        code = integer_of(error.get("code"))
        if code is not None and abs(code) <= INTEGER_MAX:
            return classify(code, details_of(error), wait_seconds_of(headers))
    if http_status == _OK:
        return _taken(document)
    return _without_code(http_status, wait_seconds_of(headers))


def _taken(document: Mapping[str, Any]) -> Accepted | Unknown:
    messages = document.get("messages")
    message = messages[0] if isinstance(messages, list) and messages else None
    wamid = message.get("id") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not is_wamid(wamid):
        return Unknown("HTTP 200 without a wamid")
    return Accepted(wamid, held=message.get("message_status") == HELD)


def _without_code(http_status: int, wait_seconds: float | None) -> Outcome:
    reason = f"HTTP {http_status} without an error code"
    if http_status in (_UNAUTHORIZED, _FORBIDDEN):
        return PauseAccount(http_status, reason)
    if http_status == _NOT_FOUND:
        return PauseNumber(http_status, reason)
    if http_status == _TOO_MANY:
        return Throttled(http_status, reason, max(wait_seconds or 0.0, _THROTTLE_SECONDS))
    if http_status >= _SERVER_ERRORS or http_status < _CLIENT_ERRORS:
        return Unknown(reason)
    return Failed(http_status, reason, recognised=False, systemic=True)


def details_of(error: Mapping[str, Any]) -> str:
    """Meta's words about this error: ``error_data`` (an object or a string), else its message."""
    data = error.get("error_data")
    candidates = (
        data.get("details") if isinstance(data, dict) else data,
        error.get("details"),
        error.get("message"),
        error.get("title"),
    )
    words = next((text for text in candidates if isinstance(text, str) and text), "")
    # JSON can write what no database takes: NUL, and half of a surrogate pair.
    clean = words.replace("\0", "").encode("utf-8", "replace").decode()
    return clean[:DETAILS_CHARACTERS_MAX]


def wait_seconds_of(headers: Mapping[str, str]) -> float | None:
    """How long Meta asks to wait, in seconds; None where it does not say.

    ``Retry-After`` (seconds, or a time after that of ``Date``; not documented for the Cloud API,
    honoured when present), else the largest ``estimated_time_to_regain_access`` (minutes) of the
    usage headers.
    """
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    after = lower.get("retry-after", "")
    seconds = integer_of(after)
    if seconds is None:
        seconds = _seconds_between(lower.get("date", ""), after)
    if seconds is None:
        minutes = _regain_minutes(_json_object(lower.get("x-business-use-case-usage", "").encode()))
        seconds = minutes * int(MINUTE) if minutes else None
    return None if seconds is None else float(min(seconds, WAIT_SECONDS_MAX))


def _seconds_between(earlier: str, later: str) -> int | None:
    """By the clock of whoever wrote both; None where one is no time, or there is no wait."""
    try:
        wait = parsedate_to_datetime(later) - parsedate_to_datetime(earlier)
    except (ValueError, TypeError):
        return None
    return max(0, int(wait.total_seconds())) or None


def _regain_minutes(usage: Mapping[str, Any]) -> int:
    rows = [row for rows in usage.values() if isinstance(rows, list) for row in rows]
    minutes = [
        integer_of(row.get("estimated_time_to_regain_access"))
        for row in rows
        if isinstance(row, dict)
    ]
    return max((value for value in minutes if value is not None), default=0)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}

"""The error table: one row of policy for each code of the Cloud API on the send path.

Source: Meta, Cloud API error codes. Durations that Meta does not give are ours.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86_400.0


class Action(Enum):
    """Who is concerned, and how."""

    FAIL = auto()
    FAIL_SYSTEMIC = auto()
    RETRY = auto()
    RETRY_PAIR = auto()
    THROTTLE = auto()
    PAUSE_CAMPAIGN = auto()
    PAUSE_NUMBER = auto()
    PAUSE_ACCOUNT = auto()


@dataclass(frozen=True, slots=True)
class Row:
    """The policy for one code.

    ``for_seconds`` is how long a pause or throttle lasts (None: until a human acts); where it is
    needed again soon after, it doubles up to ``longest_seconds``. ``whole_app`` pauses the
    numbers of every account.

    A retry waits ``after_seconds`` plus full jitter of ``base_seconds`` and ``cap_seconds``, at
    most ``tries_max`` times; ``rising``: n times ``after_seconds`` the nth time. ``systemic``: who
    has failed in the end has failed as everybody would. ``outage``: so many in a row say that Meta
    is away.

    ``recipient_details`` are words in the details that put the blame on the address, which makes
    the error final for the recipient.
    """

    meaning: str
    action: Action
    for_seconds: float | None = None
    longest_seconds: float | None = None
    whole_app: bool = False
    after_seconds: float = 0.0
    base_seconds: float = 2.0
    cap_seconds: float = 10 * MINUTE
    tries_max: int | None = None
    rising: bool = False
    systemic: bool = False
    outage: bool = False
    recipient_details: re.Pattern[str] | None = None


_NAMES_RECIPIENT: Final = re.compile(
    r"\bparam(?:eter)?:? (?:to|recipient)(?: (?:is|must|has)\b|\W*$)"
    r"|['\"](?:to|recipient)['\"]"
    r"|\brecipient\b|\bphone number\b(?! id\b)",
    re.IGNORECASE,
)

_F, _S, _R = Action.FAIL, Action.FAIL_SYSTEMIC, Action.RETRY
_C, _N, _A = Action.PAUSE_CAMPAIGN, Action.PAUSE_NUMBER, Action.PAUSE_ACCOUNT

_PERMISSION: Final = Row("permission missing or removed", _A)
_MEDIA: Final = Row(
    "media not fetched",
    _R,
    after_seconds=5 * MINUTE,
    base_seconds=MINUTE,
    tries_max=1,
    systemic=True,
)
_REGISTRATION: Final = Row("number not registered", _N)

ERRORS: Final[Mapping[int, Row]] = MappingProxyType(
    {
        # Token, permission, application.
        0: Row("token not authenticated", _A),
        1: Row("invalid request or server error", _R, tries_max=2, systemic=True),
        2: Row(
            "temporary downtime or overload",
            _R,
            after_seconds=5,
            base_seconds=5,
            cap_seconds=5 * MINUTE - 5,
            outage=True,
        ),
        3: Row("capability or permission missing", _A),
        4: Row("calls of the app exhausted", _A, MINUTE, HOUR, whole_app=True),
        10: _PERMISSION,
        33: Row("business number deleted", _N),
        100: Row("parameter not taken", _S, recipient_details=_NAMES_RECIPIENT),
        104: Row("access token missing", _A),
        190: Row("access token expired", _A, whole_app=True),
        **dict.fromkeys(range(200, 300), _PERMISSION),
        368: Row("account restricted for a policy violation", _A),
        80007: Row("rate limit of the account", _A, MINUTE, 30 * MINUTE),
        80008: Row("management calls of the account exhausted", _A, MINUTE),
        # Number and account.
        130429: Row("throughput of the number exceeded", Action.THROTTLE, 3.0),
        131005: _PERMISSION,
        131031: Row("account locked", _A),
        131037: Row("display name not approved", _N),
        131042: Row("payment problem", _A),
        131045: _REGISTRATION,
        131048: Row("number restricted after spam reports", _N, HOUR, DAY),
        131057: Row("maintenance or throughput upgrade", _N, 1.5 * MINUTE),
        131064: Row("account limited for template classification", _A),
        133000: _REGISTRATION,
        133004: Row("server temporarily unavailable", _R, base_seconds=5, outage=True),
        133005: _REGISTRATION,
        133006: _REGISTRATION,
        133008: _REGISTRATION,
        133009: _REGISTRATION,
        133010: _REGISTRATION,
        133015: Row("number deleted a moment ago", _N, 5 * MINUTE),
        133016: Row("too many registrations", _N, 3 * DAY),
        134011: Row("terms of payment not accepted", _A),
        2494100: Row("number under maintenance", _N, 3 * MINUTE),
        # Recipient.
        130403: Row("recipient is blocked by us", _F),
        130472: Row("recipient is in an experiment of Meta's", _F),
        130497: Row("account may not message this country", _F),
        131021: Row("sender is the recipient", _F),
        131026: Row("undeliverable", _F),
        131030: Row("recipient is not on the list of the test number", _S),
        131047: Row("more than 24 h since the person wrote: a template is needed", _F),
        131049: Row(
            "marketing limit of the person",
            _R,
            after_seconds=DAY,
            base_seconds=HOUR,
            cap_seconds=6 * HOUR,
            tries_max=2,
            rising=True,
        ),
        131050: Row("person stopped our marketing", _F),
        131056: Row(
            "too many messages to this person",
            Action.RETRY_PAIR,
            base_seconds=1,
            cap_seconds=MINUTE,
        ),
        131062: Row("a phone number is needed, not a user id", _S),
        137000: Row("identity of the recipient changed", _F),
        # Message.
        131000: Row("unknown error of Meta's", _R, base_seconds=5, tries_max=3),
        131008: Row("required parameter missing", _S),
        131009: Row("parameter value invalid", _S, recipient_details=_NAMES_RECIPIENT),
        131014: _MEDIA,
        131016: Row("service unavailable", _R, base_seconds=5, outage=True),
        131051: Row("message type not supported", _S),
        131052: Row("inbound media not downloaded", _F),
        131053: _MEDIA,
        131060: Row("message not available to coexisting apps", _F),
        135000: Row("unknown error with the parameters", _R, tries_max=1, systemic=True),
        # Template.
        131055: Row("only marketing templates on this endpoint", _S),
        131063: Row("marketing disabled on this endpoint", _C),
        132000: Row("count of parameters does not match the template", _S),
        132001: Row("template or language missing or not approved", _C),
        132005: Row("text too long once filled in", _S),
        132007: Row("content violates a policy", _C),
        132008: Row("parameters in a wrong format", _S),
        132012: Row("parameters in a wrong format", _S),
        132015: Row("template paused, or held messages dropped", _C),
        132016: Row("template disabled for good", _C),
        132018: Row("parameters not valid", _S),
        132068: Row("flow blocked", _C),
        132069: Row("flow throttled", _C, HOUR),
        134100: Row("not a marketing template", _S),
        134101: Row("template syncing", _C, 10 * MINUTE),
        134102: Row("template not available or not eligible", _C),
    }
)
"""Code to policy. A code that is not here is final for the recipient, and loud."""

FAILED_ERRORS: Final[Mapping[int, Row]] = MappingProxyType(
    {
        131000: Row(
            "unknown error of Meta's",
            _R,
            after_seconds=5 * MINUTE,
            base_seconds=MINUTE,
            tries_max=1,
        ),
    }
)
"""Where the code of a ``failed`` status has another policy than the same code in an answer."""

assert all(row.tries_max is None or row.tries_max > 0 for row in ERRORS.values())
assert all(row.for_seconds for row in ERRORS.values() if row.longest_seconds)

"""Errors as the Graph API words them: https://developers.facebook.com (WhatsApp error codes)."""

from dataclasses import dataclass
from typing import Any, Final

TITLES: Final[dict[int, str]] = {
    0: "AuthException",
    1: "API Unknown",
    2: "API Service",
    3: "API Method",
    4: "API Too Many Calls",
    10: "Permission Denied",
    33: "Parameter value is not valid",
    100: "Invalid parameter",
    190: "Access token has expired",
    368: "Temporarily blocked for policies violations",
    80007: "Rate limit issues",
    130429: "Rate limit hit",
    130472: "User's number is part of an experiment",
    130497: "Business account is restricted from messaging users in this country",
    131000: "Something went wrong",
    131005: "Access denied",
    131008: "Required parameter is missing",
    131009: "Parameter value is not valid",
    131016: "Service unavailable",
    131021: "Recipient cannot be sender",
    131026: "Message undeliverable",
    131031: "Account has been locked",
    131042: "Business eligibility payment issue",
    131047: "Re-engagement message",
    131048: "Spam rate limit hit",
    131049: "This message was not delivered to maintain healthy ecosystem engagement",
    131050: "User has stopped marketing messages from your business",
    131051: "Unsupported message type",
    131053: "Media upload error",
    131056: "(Business Account, Consumer Account) pair rate limit hit",
    131057: "Account in maintenance mode",
    132000: "Number of parameters does not match the expected number of params",
    132001: "Template name does not exist in the translation",
    132007: "Template format character policy violated",
    132012: "Template parameter format mismatch",
    132015: "Template is paused",
    132016: "Template is disabled",
    133010: "Phone number not registered",
    135000: "Generic user error",
}
_HREF: Final = "/documentation/business-messaging/whatsapp/support/error-codes"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is answered with an error.

    `details` None leaves `error_data` out, as Graph does for errors found before WhatsApp's code.
    """

    code: int
    http_status: int = 400
    details: str | None = None
    message: str = ""
    subcode: int | None = None


def title_of(code: int) -> str:
    """The short title of a code; an unlisted code still gets one."""
    return TITLES.get(code, "Unknown error")


def error_body(refusal: Refusal, trace_id: str) -> dict[str, Any]:
    """The JSON of an error answer: `{"error": {message, type, code, …}}`."""
    error: dict[str, Any] = {
        "message": refusal.message or f"(#{refusal.code}) {title_of(refusal.code)}",
        "type": "OAuthException",
        "code": refusal.code,
    }
    if refusal.details is not None:
        error["error_data"] = {"messaging_product": "whatsapp", "details": refusal.details}
    if refusal.subcode is not None:
        error["error_subcode"] = refusal.subcode
    error["fbtrace_id"] = trace_id
    return {"error": error}


def status_error(code: int, details: str) -> dict[str, Any]:
    """One entry of `errors[]` in a `failed` status."""
    title = title_of(code)
    return {
        "code": code,
        "title": title,
        "message": title,
        "error_data": {"details": details or title},
        "href": _HREF,
    }

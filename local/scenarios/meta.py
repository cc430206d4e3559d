"""What Meta tells by webhooks: (field, value), as its documentation and our samples have them."""

from typing import Any, Final

Signal = tuple[str, dict[str, Any]]

LANGUAGE: Final = "en-US"
DISPLAY_PHONE_NUMBER: Final = "15550783881"


def template_status(name: str, event: str, *, title: str | None = None) -> Signal:
    """A template was approved, paused, or unpaused."""
    value = {
        "event": event,
        "message_template_id": 594425479261596,
        "message_template_name": name,
        "message_template_language": LANGUAGE,
        "reason": "NONE",
    }
    return "message_template_status_update", value | (
        {"other_info": {"title": title}} if title else {}
    )


def template_category(name: str, *, old: str, new: str) -> Signal:
    """A template belongs to another category from now on."""
    return "template_category_update", {
        "message_template_id": 594425479261596,
        "message_template_name": name,
        "message_template_language": LANGUAGE,
        "previous_category": old,
        "new_category": new,
    }


def daily_limit(limit: int | str) -> Signal:
    """The portfolio may write to so many people first in 24 hours: a number, or a tier."""
    return "business_capability_update", {
        "max_daily_conversations_per_business": limit,
        "max_phone_numbers_per_business": 25,
        "max_phone_numbers_per_waba": 25,
    }


def restriction(until: float) -> Signal:
    """The account may not begin conversations until then (Unix seconds)."""
    one = {"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": int(until)}
    return "account_update", {"event": "ACCOUNT_RESTRICTION", "restriction_info": [one]}


def number_error(number: str, code: int, title: str) -> Signal:
    """An error of a number that belongs to no message."""
    return "messages", {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": DISPLAY_PHONE_NUMBER, "phone_number_id": number},
        "errors": [{"code": code, "title": title}],
    }


def alert(number: str) -> Signal:
    """A limit was not raised: something for people to read."""
    info = {
        "alert_severity": "INFORMATIONAL",
        "alert_status": "NONE",
        "alert_type": "INCREASED_CAPABILITIES_ELIGIBILITY_NEED_MORE_INFO",
        "alert_description": "More information is needed to raise the limit.",
    }
    return "account_alerts", {
        "entity_type": "PHONE_NUMBER",
        "entity_id": int(number),
        "alert_info": info,
    }

"""What webhooks tell about a template: its status, its category, its quality."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sluice.domain.graph import language_of
from sluice.domain.payloads import as_name, as_object, as_upper

_STATUS_OF_EVENT: Final = {
    **{
        event: event
        for event in (
            "APPROVED",
            "REJECTED",
            "PAUSED",
            "DISABLED",
            "PENDING",
            "IN_APPEAL",
            "PENDING_DELETION",
            "DELETED",
            "LIMIT_EXCEEDED",
            "LOCKED",
            "ARCHIVED",
        )
    },
    "REINSTATED": "APPROVED",
    "UNPAUSED": "APPROVED",
    "UNPAUSE": "APPROVED",
}
"""Others, FLAGGED among them, say nothing of whether it may be sent."""
_TITLES: Final = ("UNPAUSED", "UNPAUSE")
"""Where the title says it, not the event."""


@dataclass(frozen=True, slots=True)
class TellTemplate:
    """A template is not what it was; ``language`` in small letters, None: in every one of it."""

    account_id: str
    name: str
    language: str | None
    at: datetime
    status: str | None = None
    category: str | None = None
    quality: str | None = None


def template_told(
    account_id: str, value: Mapping[str, Any], *, at: datetime
) -> TellTemplate | None:
    """Read a webhook about a template.

    Meta's own examples mix their names up, so each word is looked for in all of them.
    """
    name = as_name(value.get("message_template_name"))
    if name is None:
        return None
    language = as_name(value.get("message_template_language"))
    title = as_upper(as_object(value.get("other_info")).get("title"))
    event = title if title in _TITLES else as_upper(value.get("event"))
    return TellTemplate(
        account_id,
        name,
        language and language_of(language).lower(),
        at,
        status=_STATUS_OF_EVENT.get(event),
        category=as_upper(value.get("new_category")) or None,
        quality=as_upper(value.get("new_quality_score")) or None,
    )

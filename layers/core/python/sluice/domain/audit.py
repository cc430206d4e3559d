"""Who did what: the origin of an order, as far as anybody can know it, and what is told of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from sluice.domain.documents import json_object

Via = Literal["declared", "topic", "principal", "engine"]

BY: Final = "by"
"""Message attribute: who the publisher says to be."""
BY_CHARACTERS_MAX: Final = 100
_CLIENT_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_SUBJECTS: Final = {"campaign": "campaign", "phone_number_id": "number", "id": "suppressions"}
"""The fields of a request that say what it is about, the first one that is there."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wants something, and how that is known.

    ``declared``: the message says so of itself; ``topic``: it came by the topic, which hides its
    publisher, and says nothing; ``principal``: SQS says so (an IAM unique id); ``engine``: nobody
    ordered it.
    """

    actor: str | None
    via: Via
    message_id: str | None = None
    """Of SNS where it came by the topic, else of SQS: the same however often it is delivered."""
    at: datetime | None = None
    """When it was published; None: it does not say, so it is taken for the newest."""


ENGINE: Final = Origin("sluice", "engine")
META: Final = Origin("meta", "engine")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was done. Never an address in it, nor what is filled in for a person."""

    action: str
    subject: str
    """As ``about_campaign`` and its like make it; empty where nobody can tell."""
    details: Mapping[str, Any]


def origin_of(
    attributes: Mapping[str, str],
    *,
    message_id: str,
    sender: str | None,
    by_topic: bool,
    at: datetime | None = None,
) -> Origin:
    """Return who sent a message. Of what came by the topic ``sender`` is SNS itself."""
    if not by_topic:
        return Origin(sender, "principal", message_id, at)
    declared = attributes.get(BY, "")[:BY_CHARACTERS_MAX]
    return Origin(declared or None, "declared" if declared else "topic", message_id, at)


def about_campaign(campaign: str) -> str:
    """Return the subject of what is done to a campaign."""
    return f"campaign {campaign}"


def about_number(phone_number_id: str) -> str:
    """Return the subject of what is done to a number."""
    return f"number {phone_number_id}"


def about_audience(audience: str) -> str:
    """Return the subject of what is done to a saved audience."""
    return f"audience {audience}"


def about_schedule(schedule_id: str) -> str:
    """Return the subject of what is done to a recurring campaign."""
    return f"schedule {schedule_id}"


def subject_of(body: str, kind: str | None = None) -> str:
    """Return what a request is about that was refused; empty where it does not say.

    ``kind`` is the message attribute. EventBridge Scheduler gives none.
    """
    document = json_object(body.encode("utf-8", "surrogatepass")) or {}
    asked = kind or document.get("kind")
    subjects = {"id": asked} if asked in ("audience", "schedule") else _SUBJECTS
    if asked == "erase":
        subjects = {"campaign": "campaign", "id": "erasure"}
    for name, subject in subjects.items():
        value = document.get(name)
        if isinstance(value, str) and _CLIENT_ID.fullmatch(value):
            return f"{subject} {value}"
    return ""

"""A parked message: the envelope that keeps it, and where it belongs."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final

from sluice.domain.documents import json_object
from sluice.domain.letter import REDRIVES, Letter

EVERY: Final = "all"
BODY_CHARACTERS_MAX: Final = 20_000
"""Of JSON each may become twelve bytes: an emoji is two escapes of six."""
REASON_CHARACTERS_MAX: Final = 100
REASONS_MAX: Final = 20
ATTRIBUTES_MAX: Final = 10
"""As many as SQS takes."""
ATTRIBUTE_CHARACTERS_MAX: Final = 256
_ID_CHARACTERS: Final = 16


class Destination(Enum):
    """Where parked messages came from, and may go back to."""

    TOPIC = "topic"
    STATUSES = "statuses"
    SIGNALS = "signals"


@dataclass(frozen=True, slots=True)
class Parked:
    """A parked message, in the queue message that it lies in."""

    letter: Letter
    id: str
    """The same however often the same message is parked."""
    step: str
    """The function that parked it, or the route where redrive did."""
    reasons: Sequence[str]
    attributes: Mapping[str, str]
    body: str
    truncated: bool
    """Something of it was cut."""

    @property
    def at(self) -> datetime | None:
        """When it was parked."""
        return self.letter.sent_at


def envelope(
    *, step: str, reasons: Sequence[str], body: str, attributes: Mapping[str, str]
) -> dict[str, Any]:
    """The JSON that keeps a message. What is too large for it is cut, and it says so."""
    kept_body = body[:BODY_CHARACTERS_MAX]
    kept = {
        name: value[:ATTRIBUTE_CHARACTERS_MAX]
        for name, value in list(attributes.items())[:ATTRIBUTES_MAX]
    }
    return {
        "id": _id_of(body, attributes),
        "step": step,
        "reasons": [reason[:REASON_CHARACTERS_MAX] for reason in reasons[:REASONS_MAX]],
        "attributes": kept,
        "body": kept_body,
        "truncated": (kept_body, kept) != (body, dict(attributes)),
    }


def opened(letter: Letter) -> Parked:
    """The message in a letter of the parked queue. What is no envelope is told as it is."""
    document = json_object(letter.body.encode("utf-8", "surrogatepass")) or {}
    reasons, attributes = document.get("reasons"), document.get("attributes")
    body, step = document.get("body"), document.get("step")
    return Parked(
        letter,
        id=str(document.get("id") or letter.message_id),
        step=step if isinstance(step, str) else "",
        reasons=tuple(map(str, reasons)) if isinstance(reasons, list) else (),
        attributes=_texts(attributes) if isinstance(attributes, dict) else {},
        body=body if isinstance(body, str) else letter.body,
        truncated=document.get("truncated", False) is not False,
    )


def step_of(name: str) -> str:
    """The step that a name in an envelope means: its own, or that of a route."""
    if name.startswith("send-"):
        return "send"
    return {"statuses": "status", "signals": "signal"}.get(name, name)


def destination_of(parked: Parked) -> Destination | str:
    """Where the message belongs, or why it cannot be returned."""
    if parked.truncated:
        return "it was cut: publish it again from your own copy"
    match step_of(parked.step):
        case "status":
            return Destination.STATUSES
        case "signal":
            return Destination.SIGNALS
        case "approve":
            return "who sent it counts: its approver must send it again"
        case "campaign" | "command" | "export" | "schedule" | "erase" | "send":
            # SNS drops what has no attributes, and tells nobody.
            has_kind = bool(fresh_attributes(parked).get("kind"))
            return Destination.TOPIC if has_kind else "it has no message attribute kind"
        case _:
            return "nobody knows where it belongs"


def fresh_attributes(parked: Parked) -> dict[str, str]:
    """Its message attributes, with all its redrives before it again.

    What EventBridge Scheduler sent had none: the topic needs its kind.
    """
    own = {"kind": "schedule"} if step_of(parked.step) == "schedule" else {}
    return {name: value for name, value in parked.attributes.items() if name != REDRIVES} | own


def _id_of(body: str, attributes: Mapping[str, str]) -> str:
    told = {name: value for name, value in attributes.items() if name != REDRIVES}
    text = "\n".join([*(f"{name}={told[name]}" for name in sorted(told)), "", body])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_CHARACTERS]


def _texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if isinstance(value, str)}

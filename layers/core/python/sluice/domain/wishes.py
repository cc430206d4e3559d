"""What people ask for: to stop, to start again, to be known by another key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluice.domain.payloads import (
    CONTACT,
    SENDER,
    as_object,
    as_objects,
    keys_of,
    moment_until,
)
from sluice.domain.suppressions import key_of_identity
from sluice.domain.words import Request, Vocabulary


@dataclass(frozen=True, slots=True)
class Suppress:
    """A person, by every key that Meta told, wants no marketing."""

    keys: tuple[str, ...]
    reason: str
    source: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Lift:
    """A person wants marketing again."""

    keys: tuple[str, ...]
    source: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Move:
    """A person has another key; what is known under the old ones counts for it too."""

    old: tuple[str, ...]
    new: str


def preferences_of(value: Mapping[str, Any], at: datetime) -> Iterator[Suppress | Lift]:
    """What people chose in WhatsApp's own settings."""
    for preference in as_objects(value.get("user_preferences")):
        keys = keys_of(preference, CONTACT, value)
        if not keys or preference.get("category") != "marketing_messages":
            continue
        told_at = moment_until(preference.get("timestamp"), at)
        if preference.get("value") == "stop":
            yield Suppress(keys, "stopped marketing in WhatsApp", "user_preferences", told_at)
        elif preference.get("value") == "resume":
            yield Lift(keys, "user_preferences", told_at)


def wishes_of(
    value: Mapping[str, Any], at: datetime, vocabulary: Vocabulary
) -> Iterator[Suppress | Lift | Move]:
    """What messages ask for, in words or by a button, and who is known by another key now."""
    for message in as_objects(value.get("messages")):
        keys = keys_of(message, SENDER, value)
        asked = set(_requests(message, vocabulary))
        told_at = moment_until(message.get("timestamp"), at)
        if keys and "stop" in asked:
            yield Suppress(keys, "asked to stop", "messages", told_at)
        elif keys and "start" in asked:
            yield Lift(keys, "messages", told_at)
        yield from _moves(message, value)


def _requests(message: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Request | None]:
    """What the text asks for that the person wrote, or the button that the person chose."""
    text, button = as_object(message.get("text")), as_object(message.get("button"))
    interactive = as_object(message.get("interactive"))
    reply = as_object(interactive.get("button_reply")) or as_object(interactive.get("list_reply"))
    for words in (text.get("body"), button.get("text"), reply.get("title")):
        if isinstance(words, str):
            yield vocabulary.request_of(words)
    for payload in (button.get("payload"), reply.get("id")):
        if isinstance(payload, str):
            yield vocabulary.request_of(payload, payload=True)


def _moves(message: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[Move]:
    old, new = _moved(message, as_object(message.get("system")), value)
    if new is not None and old and new not in old:
        yield Move(old, new)


def _moved(
    message: Mapping[str, Any], system: Mapping[str, Any], value: Mapping[str, Any]
) -> tuple[tuple[str, ...], str | None]:
    match system.get("type"):
        case "user_changed_number":
            new = key_of_identity(system.get("wa_id") or system.get("new_wa_id"))
            return keys_of(message, SENDER, value), new
        case "user_changed_user_id":
            old = key_of_identity(system.get("previous_user_id"))
            return (old,) if old else (), key_of_identity(system.get("user_id"))
        case _:
            return (), None

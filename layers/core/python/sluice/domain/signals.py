"""What a signal asks for: a closed set of actions, decided without looking at anything else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sluice.domain.brakes import StopAccount, StopNumber, stop_of
from sluice.domain.clock import FOREVER
from sluice.domain.delivery import error_code_of, moment_of
from sluice.domain.errors import classify, details_of
from sluice.domain.suppressions import key_of_identity, request_of

TEMPLATE_PAUSED: Final = "template paused: "
TEMPLATE_PAUSED_CODES: Final = (132015, 132016)
"""A request tells the same by these: the template is paused, or disabled."""
ACCOUNT_RESTRICTED: Final = "account restricted: "
ACCOUNT_DISABLED: Final = "account disabled: "
"""Reasons begin so; what was paused for another reason is never resumed by a signal."""
ERROR_FRESH_SECONDS: Final = 60.0
"""An older error says nothing about how fast the number may send now."""

_TEMPLATE_STOPS: Final = frozenset(
    {"PAUSED", "DISABLED", "REJECTED", "PENDING_DELETION", "DELETED"}
)
"""FLAGGED is not among them: Meta still sends a flagged template."""
_TEMPLATE_RESUMES: Final = frozenset({"APPROVED", "REINSTATED", "UNPAUSED", "UNPAUSE"})
_RESTRICTION: Final = "RESTRICTED_BIZ_INITIATED_MESSAGING"
_DISABLED: Final = "DISABLE"
_REINSTATED: Final = frozenset({"REINSTATE", "REINSTATED"})
_CONTACT: Final = ("wa_id", "user_id", "parent_user_id")
_SENDER: Final = ("from", "from_user_id", "from_parent_user_id")
_NAME_CHARACTERS_MAX: Final = 512


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
class PauseTemplate:
    """Campaigns with this template wait; ``language`` None: in every language of it."""

    account_id: str
    name: str
    language: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class ResumeTemplate:
    """Campaigns that a PauseTemplate paused go on."""

    account_id: str
    name: str
    language: str | None


@dataclass(frozen=True, slots=True)
class PauseNumbers:
    """Every number of the account waits."""

    account_id: str
    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class ResumeNumbers:
    """Numbers of the account that were paused for a reason which begins so go on."""

    account_id: str
    prefix: str


@dataclass(frozen=True, slots=True)
class StopSending:
    """An error of the number, which belongs to no message."""

    phone_number_id: str
    stop: StopNumber | StopAccount


Action = (
    Suppress | Lift | PauseTemplate | ResumeTemplate | PauseNumbers | ResumeNumbers | StopSending
)


def actions_of(signal: Mapping[str, Any], *, now: datetime) -> list[Action]:
    """Return what a signal of ``webhook.parse`` asks for; nothing, for most of them.

    ``now`` stands in where Meta tells no time, and bounds the times that it tells.
    """
    value = signal.get("value")
    if not isinstance(value, dict):
        return []
    at = _moment(signal.get("time"), now)
    account = _text(signal.get("account"))
    match signal.get("field"):
        case "user_preferences":
            return list(_preferences(value, at))
        case "messages":
            return [*_messages(value, at), *_errors(value, at, now)]
        case "message_template_status_update" if account:
            return list(_template(account, value))
        case "account_update" if account:
            return list(_account(account, value, now))
        case _:
            return []


def language_of(code: str) -> str:
    """A language code as it is compared: ``en-US`` and ``en_US`` are one."""
    return code.replace("-", "_").lower()


def _preferences(value: Mapping[str, Any], at: datetime) -> Iterator[Action]:
    for preference in _objects(value.get("user_preferences")):
        keys = _keys(preference, _CONTACT, value)
        if not keys or preference.get("category") != "marketing_messages":
            continue
        told_at = _moment(preference.get("timestamp"), at)
        if preference.get("value") == "stop":
            yield Suppress(keys, "stopped marketing in WhatsApp", "user_preferences", told_at)
        elif preference.get("value") == "resume":
            yield Lift(keys, "user_preferences", told_at)


def _messages(value: Mapping[str, Any], at: datetime) -> Iterator[Action]:
    for message in _objects(value.get("messages")):
        keys = _keys(message, _SENDER, value)
        asked = {request_of(text) for text in _texts(message)}
        told_at = _moment(message.get("timestamp"), at)
        if keys and "stop" in asked:
            yield Suppress(keys, "asked to stop", "messages", told_at)
        elif keys and "start" in asked:
            yield Lift(keys, "messages", told_at)


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    """What the person wrote, or the button that they chose."""
    text, button = _object(message.get("text")), _object(message.get("button"))
    interactive = _object(message.get("interactive"))
    reply = _object(interactive.get("button_reply")) or _object(interactive.get("list_reply"))
    chosen = (button.get("payload"), button.get("text"), reply.get("id"), reply.get("title"))
    yield from (part for part in (text.get("body"), *chosen) if isinstance(part, str))


def _errors(value: Mapping[str, Any], at: datetime, now: datetime) -> Iterator[Action]:
    number = _text(_object(value.get("metadata")).get("phone_number_id"))
    for error in _objects(value.get("errors")):
        code = error_code_of([error])
        if code is None or number is None:
            continue
        stop = stop_of(classify(code, details_of(error)), now=at)
        fresh = now - at < timedelta(seconds=ERROR_FRESH_SECONDS)
        if isinstance(stop, StopNumber | StopAccount) and (fresh or stop.until > now):
            yield StopSending(number, stop)


def _template(account: str, value: Mapping[str, Any]) -> Iterator[Action]:
    name = _text(value.get("message_template_name"))
    language = _text(value.get("message_template_language"))
    language = language and language_of(language)
    event, title = _event(value), _upper(_object(value.get("other_info")).get("title"))
    if name is None:
        return
    if event in _TEMPLATE_RESUMES or title in _TEMPLATE_RESUMES:
        yield ResumeTemplate(account, name, language)
    elif event in _TEMPLATE_STOPS:
        reason = f"{TEMPLATE_PAUSED}{event} {title}".rstrip()
        yield PauseTemplate(account, name, language, reason)


def _account(account: str, value: Mapping[str, Any], now: datetime) -> Iterator[Action]:
    ban = _upper(_object(value.get("ban_info")).get("waba_ban_state"))
    if ban == _DISABLED:
        yield PauseNumbers(account, FOREVER, f"{ACCOUNT_DISABLED}{ban}")
    if ban in _REINSTATED or _event(value) in _REINSTATED:
        yield ResumeNumbers(account, ACCOUNT_DISABLED)
        yield ResumeNumbers(account, ACCOUNT_RESTRICTED)
    ends = [
        moment_of(restriction.get("expiration")) or FOREVER
        for restriction in _objects(value.get("restriction_info"))
        if _upper(restriction.get("restriction_type")) == _RESTRICTION
    ]
    if ends and max(ends) > now:
        yield PauseNumbers(account, max(ends), f"{ACCOUNT_RESTRICTED}{_RESTRICTION}")


def _keys(
    person: Mapping[str, Any], names: Sequence[str], value: Mapping[str, Any]
) -> tuple[str, ...]:
    """Every key of a person: its own, and those of the contact that shares one with it."""
    keys = _keys_in(person, names)
    for contact in _objects(value.get("contacts")):
        known = _keys_in(contact, _CONTACT)
        if keys & known:
            keys |= known
    return tuple(sorted(keys))


def _keys_in(person: Mapping[str, Any], names: Sequence[str]) -> set[str]:
    return {key for name in names if (key := key_of_identity(person.get(name))) is not None}


def _moment(timestamp: object, latest: datetime) -> datetime:
    return min(moment_of(timestamp) or latest, latest)


def _event(value: Mapping[str, Any]) -> str:
    return _upper(value.get("event"))


def _upper(value: object) -> str:
    return (_text(value) or "").upper()


def _text(value: object) -> str | None:
    """Text that the database takes; Meta's names of things are plain."""
    plain = isinstance(value, str) and 0 < len(value) <= _NAME_CHARACTERS_MAX
    return value if isinstance(value, str) and plain and value.isprintable() else None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(values: object) -> list[Mapping[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []

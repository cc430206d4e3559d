"""What a signal asks for: a closed set of actions, decided without looking at anything else."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sluice.domain.brakes import StopAccount, StopNumber, stop_of
from sluice.domain.budget import UNLIMITED, limit_of
from sluice.domain.clock import FOREVER
from sluice.domain.delivery import error_code_of, moment_of
from sluice.domain.errors import classify, details_of
from sluice.domain.payloads import as_name, as_object, as_objects, as_upper, moment_until
from sluice.domain.told import TellTemplate, template_told
from sluice.domain.wishes import Lift, Move, Suppress, preferences_of, wishes_of
from sluice.domain.words import BUILT_IN, Vocabulary

TEMPLATE_PAUSED: Final = "template paused: "
TEMPLATE_PAUSED_CODES: Final = (132015, 132016)
"""A request tells the same by these: the template is paused, or disabled."""
TEMPLATE_RECATEGORISED: Final = "template category: utility to marketing"
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
_DAILY_LIMITS: Final = ("max_daily_conversations_per_business", "max_daily_conversation_per_phone")
"""The second is its name in webhooks before v24.0; today it too tells the portfolio's limit."""


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
class PauseRecategorised:
    """Campaigns that were meant as utility wait: their template is marketing by now."""

    account_id: str
    name: str
    language: str | None


@dataclass(frozen=True, slots=True)
class WarnOfQuality:
    """The template's quality is red: Meta is about to pause it."""

    name: str


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
class SetDailyLimit:
    """The account's portfolio may write to so many people in 24 hours; None: to any number."""

    account_id: str
    daily_limit: int | None
    source: str
    at: datetime


@dataclass(frozen=True, slots=True)
class StopSending:
    """An error of the number, which belongs to no message."""

    phone_number_id: str
    stop: StopNumber | StopAccount


Action = (
    Suppress
    | Lift
    | Move
    | PauseTemplate
    | ResumeTemplate
    | PauseRecategorised
    | WarnOfQuality
    | TellTemplate
    | PauseNumbers
    | ResumeNumbers
    | SetDailyLimit
    | StopSending
)


def actions_of(
    signal: Mapping[str, Any], *, now: datetime, vocabulary: Vocabulary = BUILT_IN
) -> list[Action]:
    """Return what a signal of ``webhook.parse`` asks for; nothing, for most of them.

    ``now`` stands in where Meta tells no time, and bounds the times that it tells.
    """
    value = signal.get("value")
    if not isinstance(value, dict):
        return []
    at = moment_until(signal.get("time"), now)
    account = as_name(signal.get("account"))
    found: Iterable[Action] = ()
    match signal.get("field"):
        case "user_preferences":
            found = preferences_of(value, at)
        case "messages":
            found = (*wishes_of(value, at, vocabulary), *_errors(value, at, now))
        case "message_template_status_update" | "message_template_quality_update" if account:
            # Meta's own example of the one carries the name of the other.
            found = (*_template(account, value), *_quality(value), *_told(account, value, at))
        case "template_category_update" if account:
            found = (*_category(account, value), *_told(account, value, at))
        case "account_update" if account:
            found = _account(account, value, now)
        case "business_capability_update" | "phone_number_quality_update" as source if account:
            found = _daily_limit(account, value, source, at)
    return list(found)


def language_of(code: str) -> str:
    """A language code as it is compared: ``en-US`` and ``en_US`` are one."""
    return code.replace("-", "_").lower()


def _errors(value: Mapping[str, Any], at: datetime, now: datetime) -> Iterator[Action]:
    number = as_name(as_object(value.get("metadata")).get("phone_number_id"))
    for error in as_objects(value.get("errors")):
        code = error_code_of([error])
        if code is None or number is None:
            continue
        stop = stop_of(classify(code, details_of(error)), now=at)
        fresh = now - at < timedelta(seconds=ERROR_FRESH_SECONDS)
        if isinstance(stop, StopNumber | StopAccount) and (fresh or stop.until > now):
            yield StopSending(number, stop)


def _template(account: str, value: Mapping[str, Any]) -> Iterator[Action]:
    name = as_name(value.get("message_template_name"))
    language = as_name(value.get("message_template_language"))
    language = language and language_of(language)
    event, title = _event(value), as_upper(as_object(value.get("other_info")).get("title"))
    if name is None:
        return
    if event in _TEMPLATE_RESUMES or title in _TEMPLATE_RESUMES:
        yield ResumeTemplate(account, name, language)
    elif event in _TEMPLATE_STOPS:
        reason = f"{TEMPLATE_PAUSED}{event} {title}".rstrip()
        yield PauseTemplate(account, name, language, reason)


def _quality(value: Mapping[str, Any]) -> Iterator[Action]:
    name = as_name(value.get("message_template_name"))
    if name is not None and as_upper(value.get("new_quality_score")) == "RED":
        yield WarnOfQuality(name)


def _told(account: str, value: Mapping[str, Any], at: datetime) -> Iterator[Action]:
    told = template_told(account, value, at=at)
    if told is not None:
        yield told


def _category(account: str, value: Mapping[str, Any]) -> Iterator[Action]:
    name = as_name(value.get("message_template_name"))
    language = as_name(value.get("message_template_language"))
    if name is not None and as_upper(value.get("new_category")) == "MARKETING":
        yield PauseRecategorised(account, name, language and language_of(language))


def _account(account: str, value: Mapping[str, Any], now: datetime) -> Iterator[Action]:
    ban = as_upper(as_object(value.get("ban_info")).get("waba_ban_state"))
    if ban == _DISABLED:
        yield PauseNumbers(account, FOREVER, f"{ACCOUNT_DISABLED}{ban}")
    if ban in _REINSTATED or _event(value) in _REINSTATED:
        yield ResumeNumbers(account, ACCOUNT_DISABLED)
        yield ResumeNumbers(account, ACCOUNT_RESTRICTED)
    ends = [
        moment_of(restriction.get("expiration")) or FOREVER
        for restriction in as_objects(value.get("restriction_info"))
        if as_upper(restriction.get("restriction_type")) == _RESTRICTION
    ]
    if ends and max(ends) > now:
        yield PauseNumbers(account, max(ends), f"{ACCOUNT_RESTRICTED}{_RESTRICTION}")


def _daily_limit(
    account: str, value: Mapping[str, Any], source: str, at: datetime
) -> Iterator[Action]:
    limits = [limit_of(value[name]) for name in _DAILY_LIMITS if name in value]
    told = next((limit for limit in limits if limit is not None), None)
    if told is not None:
        yield SetDailyLimit(account, None if told == UNLIMITED else told, source, at)


def _event(value: Mapping[str, Any]) -> str:
    return as_upper(value.get("event"))

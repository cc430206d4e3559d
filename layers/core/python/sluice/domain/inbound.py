"""What people say back: one signal a message, who said it, and how subscribers are told."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sluice.domain.delivery import is_wamid
from sluice.domain.limits import INBOUND_BYTES_MAX
from sluice.domain.packing import deduplication_id, to_json
from sluice.domain.payloads import (
    CONTACT,
    SENDER,
    as_name,
    as_object,
    as_objects,
    keys_in,
    keys_of,
    moment_until,
)
from sluice.domain.suppressions import phone_of_identity

Signal = Mapping[str, Any]
"""``{"account", "field", "time", "value"}`` of ``webhook.parse``."""

WINDOW: Final = timedelta(hours=24)
"""Meta, customer service windows: how long after a person's message it may be answered freely."""
AD_WINDOW: Final = timedelta(hours=72)
"""Where the message came from an advertisement."""
SYSTEM: Final = "system"
"""Written by WhatsApp about a person, not by the person."""
_KIND: Final = re.compile(r"[a-z_]{1,64}")


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message to one of our numbers."""

    phone_number_id: str
    wamid: str
    kind: str
    phone: str | None
    """Of the person, as Meta wrote it, with +; absent for who hides it."""
    user_id: str | None
    message: Mapping[str, Any]
    """As Meta sent it."""
    context: str | None
    """The wamid of the message that it answers, where the person chose one."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A person has written to a number, or called it."""

    phone_number_id: str
    keys: tuple[str, ...]
    at: datetime
    open_until: datetime
    """Until when the number may answer freely."""
    context: str | None = None
    """The wamid of the message that was answered."""


class Answered(NamedTuple):
    """The message of ours that somebody answers."""

    campaign: str | None
    """The client's id; None for a direct send."""
    campaign_id: int
    seq: int
    id: str | None
    """The client's id of a direct send."""


def one_by_one(signal: Signal) -> Iterator[Signal]:
    """Split a signal so that each message of a person is one of its own, with its contact.

    Meta gathers messages into webhooks, and may gather them otherwise when it repeats itself.
    """
    value = as_object(signal.get("value"))
    messages = value.get("messages")
    if signal.get("field") != "messages" or not isinstance(messages, list) or not messages[1:]:
        yield signal
        return
    rest = {name: part for name, part in value.items() if name not in ("messages", "contacts")}
    frame = {name: rest[name] for name in ("messaging_product", "metadata") if name in rest}
    if rest.keys() - frame.keys():
        yield {**signal, "value": rest}
    for message in messages:
        contacts = _contacts_of(message, value)
        told = {"contacts": contacts} if contacts else {}
        yield {**signal, "value": {**frame, **told, "messages": [message]}}


def digest_of(signal: Signal) -> str:
    """Under which a signal is kept once: of a message its number and wamid, else its content."""
    inbound = inbound_of(signal)
    if inbound is None:
        return deduplication_id(to_json(signal))
    return deduplication_id(f"inbound {inbound.phone_number_id} {inbound.wamid}")


def inbound_of(signal: Signal) -> Inbound | None:
    """The message that a signal is; None where it is not exactly one, with its wamid."""
    value = as_object(signal.get("value"))
    messages = as_objects(value.get("messages"))
    number = as_name(as_object(value.get("metadata")).get("phone_number_id"))
    if signal.get("field") != "messages" or len(messages) != 1 or number is None:
        return None
    (message,) = messages
    contact = as_object(next(iter(_contacts_of(message, value)), None))
    wamid, kind = message.get("id"), message.get("type")
    if not is_wamid(wamid):
        return None
    return Inbound(
        phone_number_id=number,
        wamid=wamid,
        kind=kind if isinstance(kind, str) and _KIND.fullmatch(kind) else "unknown",
        phone=phone_of_identity(message.get("from")) or phone_of_identity(contact.get("wa_id")),
        user_id=as_name(message.get("from_user_id")) or as_name(contact.get("user_id")),
        message=message,
        context=_context_of(message),
    )


def heard_in(signal: Signal, *, now: datetime) -> list[Heard]:
    """Who wrote to a number, or called it, and when; ``now`` bounds what Meta tells."""
    value = as_object(signal.get("value"))
    number = as_name(as_object(value.get("metadata")).get("phone_number_id"))
    if number is None or signal.get("field") not in ("messages", "calls"):
        return []
    at = moment_until(signal.get("time"), now)
    said = [one for one in as_objects(value.get("messages")) if one.get("type") != SYSTEM]
    calls = [
        one for one in as_objects(value.get("calls")) if one.get("direction") == "USER_INITIATED"
    ]
    heard = []
    for one in (*said, *calls):
        if keys := keys_of(one, SENDER, value):
            told_at = moment_until(one.get("timestamp"), at)
            window = AD_WINDOW if "referral" in one else WINDOW
            heard.append(Heard(number, keys, told_at, told_at + window, _context_of(one)))
    return heard


def notice_of(inbound: Inbound, answered: Answered | None, *, now: datetime) -> str:
    """What subscribers are told, as JSON. A message too large for it is kept, and only named."""
    told = {
        "phone_number_id": inbound.phone_number_id,
        "from": {
            **({"phone": inbound.phone} if inbound.phone else {}),
            **({"user_id": inbound.user_id} if inbound.user_id else {}),
        },
        "wamid": inbound.wamid,
        "message": inbound.message,
        "answers": answered._asdict() if answered else None,
        "received_at": now.isoformat(),
    }
    notice = to_json(told)
    if len(notice) <= INBOUND_BYTES_MAX:
        return notice
    return to_json({**told, "message": {"type": inbound.kind}, "truncated": True})


def attributes_of(inbound: Inbound, answered: Answered | None) -> dict[str, str]:
    """By which subscribers filter."""
    campaign = answered.campaign if answered else None
    return {
        "phone_number_id": inbound.phone_number_id,
        "type": inbound.kind,
        **({"campaign": campaign} if campaign else {}),
    }


def _context_of(message: Mapping[str, Any]) -> str | None:
    wamid = as_object(message.get("context")).get("id")
    return wamid if is_wamid(wamid) else None


def _contacts_of(message: object, value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    keys = keys_in(as_object(message), SENDER)
    contacts = as_objects(value.get("contacts"))
    return [contact for contact in contacts if keys & keys_in(contact, CONTACT)]

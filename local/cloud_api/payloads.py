"""Webhook bodies as Meta builds, serialises and signs them."""

import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from local.cloud_api.config import Number
from local.cloud_api.errors import status_error
from local.cloud_api.messages import Send
from local.cloud_api.plan import Planned

_NAMES: Final = ("Pablo M.", "Zoë 🎉", "Søren Åberg", "李雷", "Amélie <3 Tea/Coffee")


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """One status of one message; `occurred` is Unix seconds."""

    phone_number_id: str
    send: Send
    wamid: str
    planned: Planned
    occurred: float


@dataclass(frozen=True, slots=True)
class Change:
    """Anything else that a webhook may carry, as it is."""

    account_id: str
    field: str
    value: Mapping[str, Any]


def webhook_body(
    updates: Sequence[StatusUpdate | Change],
    numbers: Mapping[str, Number],
    pricing_category: str,
) -> bytes:
    """One POST: an entry for each account, a change for each number, all its statuses in order."""
    entries: dict[str, list[dict[str, Any]]] = {}
    values: dict[str, dict[str, Any]] = {}
    for update in updates:
        if isinstance(update, Change):
            change = {"value": update.value, "field": update.field}
            entries.setdefault(update.account_id, []).append(change)
            continue
        value = values.get(update.phone_number_id)
        if value is None:
            number = numbers.get(update.phone_number_id, Number())
            value = values[update.phone_number_id] = _value(update.phone_number_id, number)
            change = {"value": value, "field": "messages"}
            entries.setdefault(number.account_id, []).append(change)
        _add(value, update, pricing_category)
    payload = {
        "object": "whatsapp_business_account",
        "entry": [{"id": account, "changes": changes} for account, changes in entries.items()],
    }
    return serialised(payload)


def serialised(payload: Mapping[str, Any]) -> bytes:
    r"""JSON as Meta writes and signs it: escaped unicode in lower case, and `\/`, `@`, `<` too."""
    text = json.dumps(payload, separators=(",", ":"))
    text = text.replace("/", "\\/").replace("@", "\\u0040").replace("<", "\\u003c")
    return text.encode("ascii")


def signature(app_secret: str, body: bytes) -> str:
    """The value of X-Hub-Signature-256 for these very bytes."""
    return "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()


def inbound_value(
    phone_number_id: str, number: Number, *, sender: str, message: Mapping[str, Any]
) -> dict[str, Any]:
    """The value of a `messages` change with one message from a person (`sender`: digits)."""
    value = {
        key: item for key, item in _value(phone_number_id, number).items() if key != "statuses"
    }
    value["contacts"] = [{"profile": {"name": _name(sender)}, "wa_id": sender}]
    return value | {"messages": [message]}


def _value(phone_number_id: str, number: Number) -> dict[str, Any]:
    return {
        "messaging_product": "whatsapp",
        "metadata": {
            "display_phone_number": number.display_phone_number,
            "phone_number_id": phone_number_id,
        },
        "statuses": [],
    }


def _add(value: dict[str, Any], update: StatusUpdate, pricing_category: str) -> None:
    """Append the status and, unless it failed, its contact: Meta omits those of failed ones."""
    send, planned = update.send, update.planned
    status: dict[str, Any] = {
        "id": update.wamid,
        "status": planned.status,
        "timestamp": str(int(update.occurred)),
    }
    if send.wa_id:
        status["recipient_id"] = send.wa_id
    if planned.code is None or not send.wa_id:
        status["recipient_user_id"] = send.user_id
    if send.opaque_id and planned.with_opaque:
        status["biz_opaque_callback_data"] = send.opaque_id
    if planned.priced:
        category = pricing_category if send.is_template else "service"
        status["pricing"] = _pricing(category)
    if planned.code is not None:
        status["errors"] = [status_error(planned.code, planned.details)]
    else:
        value.setdefault("contacts", []).append(_contact(send))
    value["statuses"].append(status)


def _pricing(category: str) -> dict[str, Any]:
    return {"billable": True, "pricing_model": "PMP", "type": "regular", "category": category}


def _contact(send: Send) -> dict[str, Any]:
    contact: dict[str, Any] = {"profile": {"name": _name(send.user_id)}}
    if send.wa_id:
        contact["wa_id"] = send.wa_id
    return contact | {"user_id": send.user_id}


def _name(person: str) -> str:
    """A name that stays with the person; some need more than ASCII, as in life."""
    return _NAMES[zlib.crc32(person.encode()) % len(_NAMES)]

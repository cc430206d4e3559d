"""What Meta's webhooks bring: verified, and taken apart.

Nothing that Meta signs is ever refused: what does not have the shape that we know is kept raw
as a signal, because Meta offers no way to ask for a webhook again.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sluice.domain.delivery import STATUS_OF_WEBHOOK, integer_of, is_wamid, moment_of
from sluice.domain.documents import json_object
from sluice.domain.limits import CALLBACK_DATA_CHARACTERS_MAX
from sluice.domain.packing import deduplication_id, pack, pack_signals, to_json

__all__ = [
    "Parsed",
    "deduplication_id",
    "pack",
    "pack_signals",
    "parse",
    "to_json",
    "verify_challenge",
    "verify_signature",
]

TEXT_CHARACTERS_MAX: Final = 500
STATUS_ERRORS_MAX: Final = 3
"""Errors kept of one status: Meta has only ever sent one."""
SIGNALS_MAX: Final = 10_000
"""Of one webhook. Meta gathers 1,000 updates at most; three megabytes of ``{}`` are a million."""
PRICING_KEYS: Final = ("pricing_model", "type", "category", "billable")

_SIGNATURE: Final = re.compile(r"sha256=([0-9a-f]{64})")
_NOT_ABOUT_ANYTHING: Final = frozenset({"messaging_product", "metadata", "contacts"})
"""What a value has beside its subject."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """One webhook taken apart.

    A status is ``{"id", "status", "timestamp"}`` and where present ``"opaque"`` (our id),
    ``"number"`` (phone_number_id), ``"errors": [{"code", "details"}]`` and ``"pricing"``; of the
    person only, with ``sent``, the user id as ``"user"``. A signal is
    ``{"account", "field", "time", "value"}``, its value raw.
    """

    statuses: list[dict[str, Any]] = field(default_factory=list)
    signals: list[dict[str, Any]] = field(default_factory=list)
    crowd: list[Any] = field(default_factory=list)
    """What comes after SIGNALS_MAX signals, as it came, to be kept in one more."""

    def keep(
        self, entry: Mapping[str, Any], name: object, value: dict[str, Any], *, raw: object
    ) -> None:
        """Keep a signal; ``raw`` is what it was made of."""
        if len(self.signals) < SIGNALS_MAX:
            self.signals.append(_signal(entry, name, value))
        else:
            self.crowd.append(raw)


def verify_signature(body: bytes, header: str | None, app_secrets: Sequence[str]) -> bool:
    """Whether ``X-Hub-Signature-256`` was made over these raw bytes with one of the secrets.

    In constant time; every secret is tried, so that two are valid while one is rotated.
    Source: Meta, webhook endpoint, validating payloads.
    """
    match = _SIGNATURE.fullmatch(header or "")
    if match is None:
        return False
    valid = False
    for secret in filter(None, app_secrets):
        expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        valid |= hmac.compare_digest(expected, match[1])
    return valid


def verify_challenge(query: Mapping[str, str], verify_token: str) -> str | None:
    """The challenge to answer with when Meta checks the endpoint; None where it is not Meta.

    ``query`` has ``hub.mode``, ``hub.verify_token`` and ``hub.challenge``.
    """
    token = query.get("hub.verify_token", "").encode("utf-8", "surrogatepass")
    known = bool(verify_token) and hmac.compare_digest(token, verify_token.encode())
    if not known or query.get("hub.mode") != "subscribe":
        return None
    return query.get("hub.challenge") or None


def parse(body: bytes) -> Parsed | None:
    """A webhook taken apart; None for what is not a JSON object. Never raises."""
    document = json_object(body)
    if document is None:
        return None
    parsed = Parsed()
    entries = document.get("entry")
    if isinstance(entries, list):
        for entry in entries:
            _take_entry(entry, parsed)
    else:
        parsed.keep({}, None, {"raw": document}, raw=document)
    if parsed.crowd:
        parsed.signals.append(_signal({}, None, {"raw": parsed.crowd}))
    return parsed


def _take_entry(entry: object, parsed: Parsed) -> None:
    changes = entry.get("changes") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(changes, list):
        parsed.keep({}, None, {"raw": entry}, raw=entry)
        return
    for change in changes:
        _take_change(entry, change, parsed)


def _take_change(entry: Mapping[str, Any], change: object, parsed: Parsed) -> None:
    value = change.get("value") if isinstance(change, dict) else None
    if not isinstance(change, dict) or not isinstance(value, dict):
        parsed.keep(entry, None, {"raw": change}, raw=change)
        return
    name, statuses = change.get("field"), value.get("statuses")
    if name != "messages" or not isinstance(statuses, list):
        parsed.keep(entry, name, value, raw=change)
        return
    rest = {key: part for key, part in value.items() if key != "statuses"}
    if rest.keys() - _NOT_ABOUT_ANYTHING:
        parsed.keep(entry, name, rest, raw=rest)
    for status in statuses:
        _take_status(entry, value.get("metadata"), status, parsed)


def _take_status(
    entry: Mapping[str, Any], metadata: object, status: object, parsed: Parsed
) -> None:
    compact = _compact(status, metadata)
    if compact is None:
        about = {"metadata": metadata} if isinstance(metadata, dict) else {}
        parsed.keep(entry, "statuses", {**about, "statuses": [status]}, raw=status)
    else:
        parsed.statuses.append(compact)


def _signal(entry: Mapping[str, Any], name: object, value: dict[str, Any]) -> dict[str, Any]:
    account, time = entry.get("id"), entry.get("time")
    return {
        "account": account if isinstance(account, str) else None,
        "field": name if isinstance(name, str) else None,
        "time": integer_of(time),
        "value": value,
    }


def _compact(status: object, metadata: object) -> dict[str, Any] | None:
    """What the status step needs of a status; None where it is not one that we know."""
    if not isinstance(status, dict):
        return None
    wamid, kind, timestamp = status.get("id"), status.get("status"), status.get("timestamp")
    if not is_wamid(wamid) or moment_of(timestamp) is None:
        return None
    if not isinstance(kind, str) or kind not in STATUS_OF_WEBHOOK:
        return None
    optional = {
        "opaque": _text(status.get("biz_opaque_callback_data"), CALLBACK_DATA_CHARACTERS_MAX),
        "number": _text(metadata.get("phone_number_id")) if isinstance(metadata, dict) else None,
        "errors": _errors(status.get("errors")),
        "pricing": _pricing(status.get("pricing")),
        # Once a message is enough to learn whose it is, and every message is sent.
        "user": _text(status.get("recipient_user_id")) if kind == "sent" else None,
    }
    compact = {"id": wamid, "status": kind, "timestamp": str(timestamp)}
    return compact | {key: part for key, part in optional.items() if part}


def _errors(errors: object) -> list[dict[str, Any]]:
    objects = [e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
    return [
        {"code": code, "details": _details(error)}
        for error in objects[:STATUS_ERRORS_MAX]
        if (code := integer_of(error.get("code"))) is not None
    ]


def _details(error: Mapping[str, Any]) -> str:
    data = error.get("error_data")
    candidates = (
        data.get("details") if isinstance(data, dict) else data,
        error.get("message"),
        error.get("title"),
    )
    return next((text for text in candidates if isinstance(text, str)), "")[:TEXT_CHARACTERS_MAX]


def _pricing(pricing: object) -> dict[str, Any]:
    if not isinstance(pricing, dict):
        return {}
    known = {key: pricing.get(key) for key in PRICING_KEYS}
    return {key: v for key, v in known.items() if isinstance(v, bool) or _is_text(v)}


def _text(value: object, characters_max: int = TEXT_CHARACTERS_MAX) -> str | None:
    return value if isinstance(value, str) and _is_text(value, characters_max) else None


def _is_text(value: object, characters_max: int = TEXT_CHARACTERS_MAX) -> bool:
    return isinstance(value, str) and 0 < len(value) <= characters_max

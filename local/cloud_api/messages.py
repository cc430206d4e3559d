"""A send request as Meta reads it: checked, its recipient resolved, its answer worded."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from local.cloud_api.errors import Refusal

OPAQUE_CHARACTERS_MAX: Final = 512
_MEDIA: Final = ("image", "video", "document")
_BSUID: Final = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")
_PUNCTUATION: Final = re.compile(r"[\s().-]")
_DIGITS: Final = re.compile(r"[1-9][0-9]{6,14}")


@dataclass(frozen=True, slots=True)
class Send:
    """A valid request. `recipient` is `+<digits>` or a BSUID; `wa_id` is empty for a BSUID.

    `lost` marks a BSUID that was put into `to`: Meta answers 200 and nothing ever happens.
    """

    recipient: str
    given: str
    wa_id: str
    user_id: str
    opaque_id: str
    is_template: bool
    lost: bool = False
    media_ids: tuple[str, ...] = ()
    """Of a template's components."""
    content: str = ""
    """The template's name, or the type of a free-form message."""


def read_send(raw: bytes, country_calling_code: str) -> Send | Refusal:
    """The request in a body, or the error that Meta would answer."""
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return Refusal(100, message="(#100) Invalid JSON for postcard")
    send = _flaw(body) or _addressed(body, country_calling_code)
    if isinstance(send, Refusal):
        return send
    if not send.is_template:
        return replace(send, content=body.get("type", "text"))
    template = body["template"]
    media_ids = tuple(_media_ids(template.get("components")))
    return replace(send, content=template["name"], media_ids=media_ids)


def answer(send: Send, wamid: str, *, held: bool) -> dict[str, Any]:
    """The JSON of an accepted request; only templates have a `message_status`."""
    contact = {"input": send.given, "wa_id": send.wa_id}
    if not send.wa_id:
        contact = {"input": send.given, "user_id": send.user_id}
    message = {"id": wamid}
    if send.is_template:
        message["message_status"] = "held_for_quality_assessment" if held else "accepted"
    return {"messaging_product": "whatsapp", "contacts": [contact], "messages": [message]}


def wamid_of(recipient: str, request_id: int, salt: int) -> str:
    """A message id of Meta's form: base64 of the recipient and 18 hexadecimal digits.

    The request id makes it unique for as long as the ledger lives; 32 bits of salt hide that.
    """
    digits = recipient.lstrip("+").encode()[:127]
    unique = f"{salt & 0xFFFFFFFF:08X}{request_id:010X}".encode()
    head = bytes((0x1C, 0x18, len(digits)))
    body = head + digits + bytes((0x15, 0x02, 0x00, 0x11, 0x18, 0x12)) + unique + b"\0"
    return "wamid." + base64.b64encode(body).decode()


def claims(raw: bytes) -> tuple[str, str]:
    """Recipient and opaque id that a refused body names, as far as they can be read."""
    try:
        body = json.loads(raw)
        recipient = str(body.get("to") or body.get("recipient") or "")
        return recipient, str(body.get("biz_opaque_callback_data", ""))
    except (ValueError, AttributeError):
        return "", ""


def _media_ids(node: Any, kind: str = "") -> Iterator[str]:
    """The ids of images, videos and documents under a node of JSON."""
    if isinstance(node, dict):
        if kind in _MEDIA and isinstance(node.get("id"), str):
            yield node["id"]
        for name, part in node.items():
            yield from _media_ids(part, name)
    elif isinstance(node, list):
        for part in node:
            yield from _media_ids(part)


def _flaw(body: dict[str, Any]) -> Refusal | None:
    if body.get("messaging_product") != "whatsapp":
        return Refusal(100, message="(#100) The parameter messaging_product is required.")
    if not body.get("to") and not body.get("recipient"):
        return Refusal(100, message="(#100) The parameter to is required.")
    opaque_id = body.get("biz_opaque_callback_data", "")
    if not isinstance(opaque_id, str) or len(opaque_id) > OPAQUE_CHARACTERS_MAX:
        return Refusal(
            100,
            message="(#100) Param biz_opaque_callback_data must be at most 512 characters long.",
            details="biz_opaque_callback_data is too long",
        )
    kind = body.get("type", "text")
    content = body.get(kind) if isinstance(kind, str) else None
    if not isinstance(content, dict):
        return Refusal(131008, details=f"The parameter {kind} is required.")
    if kind == "template" and not _is_template(content):
        return Refusal(131008, details="template name or language is missing")
    return None


def _is_template(content: dict[str, Any]) -> bool:
    language = content.get("language")
    return bool(content.get("name")) and isinstance(language, dict) and bool(language.get("code"))


def _addressed(body: dict[str, Any], country_calling_code: str) -> Send | Refusal:
    given = str(body.get("to") or body["recipient"])
    opaque_id = body.get("biz_opaque_callback_data", "")
    is_template = body.get("type") == "template"
    if _BSUID.fullmatch(given):
        return Send(given, given, "", given, opaque_id, is_template, lost=bool(body.get("to")))
    plain = _PUNCTUATION.sub("", given)
    digits = plain[1:] if plain.startswith("+") else country_calling_code + plain
    if not body.get("to") or not _DIGITS.fullmatch(digits):
        return Refusal(131009, details="Recipient phone number is not valid.")
    return Send(f"+{digits}", given, wa_id_of(digits), _user_id(digits), opaque_id, is_template)


def wa_id_of(digits: str) -> str:
    """What WhatsApp knows the person by: Mexico and Brazil lose a digit, Argentina gets one.

    Of Brazil only mobile numbers: 9 and eight digits from 6 on, under an area code without a zero.
    """
    if re.fullmatch(r"521\d{10}", digits):
        return f"52{digits[3:]}"
    if re.fullmatch(r"55[1-9][1-9]9[6-9]\d{7}", digits):
        return digits[:4] + digits[5:]
    if re.fullmatch(r"54[1-3]\d{9}", digits):
        return f"549{digits[2:]}"
    return digits


def _user_id(digits: str) -> str:
    """A business-scoped id that belongs to the phone number for ever."""
    return f"US.{int(digits) * 2_654_435_761 % 10**20:020d}"

"""Who gets nothing, or no marketing, and by which key a person is known.

What is sent stays as it was given: keys are only compared.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeGuard

Scope = Literal["marketing", "all"]
"""``marketing`` stops campaigns of category marketing, ``all`` every message."""
MARKETING: Final[Scope] = "marketing"
ALL: Final[Scope] = "all"
OPTED_OUT: Final = 131050
"""Meta, error codes: the person stopped marketing from this business."""
UNDELIVERABLE: Final = 131026
"""Meta, error codes: the person is not on WhatsApp, or cannot receive the message now."""
PERSONAL_CODES: Final = frozenset({OPTED_OUT, UNDELIVERABLE})
"""Codes that tell something about the person, beyond the message."""
UNDELIVERABLE_SOURCE: Final = f"error {UNDELIVERABLE}"
"""A suppression of this source is a guess: any word of a person outweighs it."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """A person is to get no message of this scope."""

    match_key: str
    scope: Scope
    reason: str
    """Told with each row that it stops, so never anything about the person."""
    source: str
    """Who said so: a field of webhooks, or whoever imported it."""
    since: datetime


# Meta, send messages: "For Brazil and Mexico, the extra prefix may be modified by the Cloud API".
# In Brazil a mobile number is 9 and eight digits from 6 on; without the 9, those from 2 to 5 are
# landlines, whose numbers are nobody else's.
_VARIANTS: Final = (
    ("+55", re.compile(r"\+55([1-9][1-9])9?([6-9][0-9]{7})"), r"+55\g<1>9\g<2>"),
    ("+52", re.compile(r"\+521?([2-9][0-9]{9})"), r"+52\g<1>"),
    ("+54", re.compile(r"\+549?([1-3][0-9]{9})"), r"+549\g<1>"),
)
_SPELLINGS: Final = (
    (re.compile(r"\+55([1-9][1-9])9([6-9][0-9]{7})"), (r"+55\g<1>\g<2>",)),
    (re.compile(r"\+52([2-9][0-9]{9})"), (r"+521\g<1>",)),
    (re.compile(r"\+549([1-3][0-9]{9})"), (r"+54\g<1>",)),
)
_WA_ID: Final = re.compile(r"\+?([1-9][0-9]{6,14})")
_USER_ID: Final = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")


def match_key(address: str) -> str:
    """The key under which the variants of one person's number meet; a BSUID is its own.

    Brazil with or without the ninth digit, Mexico +52 or +521, Argentina +54 or +549.
    """
    for prefix, pattern, canonical in _VARIANTS:
        if address.startswith(prefix):
            match = pattern.fullmatch(address)
            return match.expand(canonical) if match else address
    return address


def spellings(key: str) -> tuple[str, ...]:
    """Every way to write the person of a match key: each has this key, and no other has it."""
    for canonical, others in _SPELLINGS:
        if match := canonical.fullmatch(key):
            return (key, *(match.expand(other) for other in others))
    return (key,)


def key_of_identity(identity: object) -> str | None:
    """The key of a ``wa_id`` (digits without a +) or a BSUID of a webhook; None: it is neither."""
    if is_user_id(identity):
        return identity
    phone = phone_of_identity(identity)
    return match_key(phone) if phone else None


def is_user_id(identity: object) -> TypeGuard[str]:
    """Whether this is a business-scoped user id."""
    return isinstance(identity, str) and _USER_ID.fullmatch(identity) is not None


def phone_of_identity(identity: object) -> str | None:
    """A ``wa_id`` as a phone number with +; None: it is none."""
    match = _WA_ID.fullmatch(identity) if isinstance(identity, str) else None
    return f"+{match[1]}" if match else None

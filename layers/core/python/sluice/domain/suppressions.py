"""Who gets nothing, or no marketing: by which key a person is known, and by which words they ask.

What is sent stays as it was given: keys are only compared.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

Scope = Literal["marketing", "all"]
"""``marketing`` stops campaigns of category marketing, ``all`` every message."""
MARKETING: Final[Scope] = "marketing"
OPTED_OUT: Final = 131050
"""Meta, error codes: the person stopped marketing from this business."""


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


def key_of_identity(identity: object) -> str | None:
    """The key of a ``wa_id`` (digits without a +) or a BSUID of a webhook; None: it is neither."""
    if not isinstance(identity, str):
        return None
    if _USER_ID.fullmatch(identity):
        return identity
    match = _WA_ID.fullmatch(identity)
    return match_key(f"+{match[1]}") if match else None


# Whole messages, not words in them. "Cancel" is left out on purpose: to a clinic or a shop it is
# about the appointment or the order.
STOP_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": ("stop", "stop all", "stopall", "stop promotions", "stop marketing", "unsubscribe",
           "opt out", "optout", "quit", "remove me"),
    "es": ("parar", "alto", "baja", "darme de baja", "cancelar suscripción",
           "cancelar suscripcion", "detener promociones"),
    "pt": ("parar", "pare", "sair", "descadastrar", "cancelar inscrição", "cancelar inscricao",
           "parar promoções"),
    "fr": ("arrêt", "arret", "arrêter", "arreter", "désabonner", "desabonner", "me désabonner",
           "désinscription", "desinscription"),
    "de": ("stopp", "abmelden", "abbestellen", "austragen"),
    "it": ("ferma", "fermare", "disiscrivi", "disiscrivimi", "cancellami"),
    "hi": ("रोकें", "रोको", "बंद करें", "बंद करो", "स्टॉप", "band karo", "band karen"),
    "ar": ("توقف", "إيقاف", "ايقاف", "أوقف", "اوقف", "قف", "إلغاء الاشتراك", "الغاء الاشتراك"),
    "sw": ("acha", "simama", "sitisha", "jiondoe", "niondoe"),
}  # fmt: skip
START_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": ("start", "unstop", "subscribe", "resubscribe", "opt in", "optin",
           "resume promotions"),
    "es": ("alta", "darme de alta", "suscribir", "suscribirme", "reanudar"),
    "pt": ("inscrever", "me inscrever", "assinar", "retomar"),
    "fr": ("réabonner", "reabonner", "m'abonner", "reprendre"),
    "de": ("anmelden", "starten"),
    "it": ("iscrivi", "iscrivimi", "riprendi"),
    "hi": ("शुरू करें", "शुरू करो", "चालू करें", "स्टार्ट"),
    "ar": ("ابدأ", "ابدا", "اشتراك", "اشترك"),
    "sw": ("anza", "jiunge", "nijiunge"),
}  # fmt: skip
_REQUEST_CHARACTERS_MAX: Final = 100
_VARIATION_SELECTORS: Final = ("\ufe0e", "\ufe0f")
_NOT_WORDS: Final = ("P", "S", "Z", "C")
"""Unicode's categories of punctuation, symbols (emoji too), separators and control characters."""


def request_of(text: str) -> Literal["stop", "start"] | None:
    """What a whole message, or a button's payload, asks for; None: it is about something else."""
    if len(text) > _REQUEST_CHARACTERS_MAX:
        return None
    words = _plain(text)
    if words in _STOP:
        return "stop"
    return "start" if words in _START else None


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = "".join(" " if _is_no_word(character) else character for character in folded)
    return " ".join(spaced.split())


def _is_no_word(character: str) -> bool:
    if character in _VARIATION_SELECTORS:
        return True
    return unicodedata.category(character).startswith(_NOT_WORDS)


def _all(words: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(_plain(word) for language in words.values() for word in language)


_STOP: Final = _all(STOP_WORDS)
_START: Final = _all(START_WORDS)
assert not _STOP & _START, "no word asks for both"

"""By which words people ask to stop, or to start again: built in, and changed by a stage."""

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Words = Mapping[str, tuple[str, ...]]
"""Whole messages by language."""
Request = Literal["stop", "start"]

# Whole messages, not words in them. "Cancel" is left out on purpose: to a clinic or a shop it is
# about the appointment or the order.
STOP_WORDS: Final[Words] = {
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
START_WORDS: Final[Words] = {
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
WORDS_CHARACTERS_MAX: Final = 100
"""A longer message is never a stop word, whatever it begins with."""
_VARIATION_SELECTORS: Final = ("\ufe0e", "\ufe0f")
_NOT_WORDS: Final = ("P", "S", "Z", "C")
"""Unicode's categories of punctuation, symbols (emoji too), separators and control characters."""


class WordsInvalidError(ValueError):
    """Words that cannot be told from one another; the message says which."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What counts as a request, each in its plain form."""

    stop: frozenset[str]
    start: frozenset[str]
    stop_payloads: frozenset[str] = frozenset()
    """Of buttons only: what a button sends back, which nobody reads."""

    def request_of(self, text: str, *, payload: bool = False) -> Request | None:
        """What a whole message, or a button's payload, asks for; None: something else."""
        if len(text) > WORDS_CHARACTERS_MAX:
            return None
        words = plain(text)
        if words in self.stop or (payload and words in self.stop_payloads):
            return "stop"
        return "start" if words in self.start else None


def vocabulary_of(
    stop: Words = STOP_WORDS, start: Words = START_WORDS, stop_payloads: Iterable[str] = ()
) -> Vocabulary:
    """The vocabulary of these words. Raises WordsInvalidError, naming every word in question."""
    vocabulary = Vocabulary(_all(stop), _all(start), frozenset(map(plain, stop_payloads)))
    both = vocabulary.start & (vocabulary.stop | vocabulary.stop_payloads)
    if both:
        raise WordsInvalidError(f"stops and starts: {', '.join(sorted(both))}")
    if "" in vocabulary.stop | vocabulary.start | vocabulary.stop_payloads:
        raise WordsInvalidError("has a word without a letter or a digit")
    return vocabulary


def changed(words: Words, changes: Mapping[str, Mapping[str, Iterable[str]]]) -> Words:
    """The words with changes by language: ``{"add": […]}``, or ``{"replace": […]}``."""
    after = dict(words)
    for language, change in changes.items():
        known = change["replace"] if "replace" in change else after.get(language, ())
        after[language] = (*known, *change.get("add", ()))
    return after


def vocabulary_from(text: str) -> Vocabulary:
    """The vocabulary that a stage's changes make of the words that are built in.

    ``text`` is JSON: ``{"stop_words": …, "start_words": …, "stop_payloads": […]}``, each optional.
    """
    changes: Mapping[str, Any] = json.loads(text)
    return vocabulary_of(
        changed(STOP_WORDS, changes.get("stop_words", {})),
        changed(START_WORDS, changes.get("start_words", {})),
        changes.get("stop_payloads", ()),
    )


def plain(text: str) -> str:
    """Text as it is compared: no case, no punctuation, no emoji, single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = "".join(" " if _is_no_word(character) else character for character in folded)
    return " ".join(spaced.split())


def _is_no_word(character: str) -> bool:
    if character in _VARIATION_SELECTORS:
        return True
    return unicodedata.category(character).startswith(_NOT_WORDS)


def _all(words: Words) -> frozenset[str]:
    return frozenset(plain(word) for language in words.values() for word in language)


BUILT_IN: Final = vocabulary_of()

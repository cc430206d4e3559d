"""What each code of the Cloud API must come to: written from Meta's documents, not from the engine.

``CODES`` has a line for every code on the send path. ``answer`` is what it must come to as the
answer to a request, ``failed`` in a webhook (None: the same); ``http_status`` is one that Meta
sends it with, which must change nothing.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
Bounds = tuple[float, float]
"""At least and at most so many seconds."""


@dataclass(frozen=True)
class Fails:
    """Final for the recipient; ``everybody``: many in a row stop the campaign."""

    everybody: bool = False
    suppressed: bool = False
    recognised: bool = True


@dataclass(frozen=True)
class Waits:
    """The recipient alone is tried again after so long each time, then it has failed."""

    seconds: tuple[Bounds, ...]
    tries_max: int | None = None
    then: Fails = Fails()
    away: bool = False
    """Many in a row pause the number: Meta is away."""


@dataclass(frozen=True)
class Pauses:
    """The row waits with what is paused: for so long, or until a person acts."""

    what: Literal["campaign", "number", "account", "app"]
    seconds: Bounds | None = None
    longest: float | None = None
    """The pause doubles up to this while it is needed again at once."""
    slower: bool = False
    """The number goes on at half its rate."""


Expected = Fails | Waits | Pauses


@dataclass(frozen=True)
class Code:
    code: int
    answer: Expected
    failed: Expected | None = None
    http_status: int = 400
    details: str = "Meta's own words."

    @property
    def by_webhook(self) -> Expected:
        return self.failed or self.answer

    def __str__(self) -> str:  # noqa: D105 - as a test is named
        return f"{self.code}"

    def error(self) -> dict[str, object]:
        """As Meta writes it, in an answer and in a status."""
        return {
            "message": f"(#{self.code}) A title",
            "title": "A title",
            "type": "OAuthException",
            "code": self.code,
            "error_data": {"messaging_product": "whatsapp", "details": self.details},
            "fbtrace_id": "Az8or2yhqkZfEZ-_4Qn_Bam",
        }

    def body(self) -> bytes:
        return json.dumps({"error": self.error()}).encode()


RECIPIENT = Fails()
EVERYBODY = Fails(everybody=True)
UNHEARD_OF = Fails(everybody=True, recognised=False)

TEMPLATE = Pauses("campaign")
NUMBER = Pauses("number")
ACCOUNT = Pauses("account")

SOON = ((0.0, 10 * MINUTE),) * 3
MINUTES_LATER = ((MINUTE, HOUR),)
MEDIA = Waits(MINUTES_LATER, tries_max=1, then=EVERYBODY)
PAIR = Waits(tuple((4.0**x, 4.0**x + MINUTE) for x in range(5)))


def _all(codes: Iterable[int], answer: Expected, http_status: int = 400) -> list[Code]:
    return [Code(code, answer, http_status=http_status) for code in codes]


CODES: list[Code] = [
    # Token, permission, application. Nobody's attempt is burned by what only a person can mend.
    Code(0, ACCOUNT, http_status=401),
    Code(1, Waits(SOON[:2], tries_max=2, then=EVERYBODY), http_status=500),
    Code(2, Waits(((5.0, 5 * MINUTE),) * 5, away=True), http_status=503),
    Code(3, ACCOUNT, http_status=403),
    Code(4, Pauses("app", (MINUTE, MINUTE), HOUR), http_status=429),
    Code(10, ACCOUNT, http_status=403),
    Code(33, NUMBER),
    Code(104, ACCOUNT, http_status=401),
    Code(190, Pauses("app"), http_status=401),
    *_all(range(200, 300), ACCOUNT, 403),
    Code(368, ACCOUNT, http_status=403),
    Code(80007, Pauses("account", (MINUTE, MINUTE), 30 * MINUTE), http_status=429),
    Code(80008, Pauses("account", (MINUTE, 30 * MINUTE)), http_status=429),
    # The request itself.
    Code(100, EVERYBODY),
    Code(131000, Waits(SOON, tries_max=3), Waits(MINUTES_LATER, tries_max=1), http_status=500),
    Code(131008, EVERYBODY),
    Code(131009, EVERYBODY),
    Code(131014, MEDIA),
    Code(131016, Waits(SOON, away=True), http_status=503),
    Code(131051, EVERYBODY),
    Code(131052, RECIPIENT),
    Code(131053, MEDIA),
    Code(131060, RECIPIENT),
    Code(133004, Waits(SOON, away=True), http_status=503),
    Code(135000, Waits(SOON[:1], tries_max=1, then=EVERYBODY)),
    # The recipient.
    *_all((130403, 130472, 130497, 131021, 131026, 131047, 137000), RECIPIENT),
    Code(131030, EVERYBODY),
    Code(131049, Waits(((DAY, 2 * DAY), (2 * DAY, 3 * DAY)), tries_max=2)),
    Code(131050, Fails(suppressed=True)),
    Code(131056, PAIR),
    Code(131062, EVERYBODY),
    # The number.
    Code(130429, Pauses("number", (1.0, 5.0), slower=True), http_status=429),
    *_all((131037, 131045), NUMBER),
    Code(131048, Pauses("number", (HOUR, HOUR), DAY)),
    Code(131057, Pauses("number", (MINUTE, 2 * MINUTE)), http_status=500),
    *_all((133000, 133005, 133006, 133008, 133009, 133010), NUMBER),
    Code(133015, Pauses("number", (5 * MINUTE, 5 * MINUTE))),
    Code(133016, Pauses("number", (3 * DAY, 3 * DAY))),
    Code(2494100, Pauses("number", (MINUTE, 10 * MINUTE))),
    # The account.
    *_all((131005, 131031), ACCOUNT, 403),
    *_all((131042, 131064, 134011), ACCOUNT),
    # The template.
    *_all((131055, 132000, 132005, 132008, 132012, 132018, 134100), EVERYBODY),
    *_all((131063, 132001, 132007, 132015, 132016, 132068), TEMPLATE),
    Code(132069, Pauses("campaign", (HOUR, HOUR))),
    Code(134101, Pauses("campaign", (10 * MINUTE, 10 * MINUTE))),
    Code(134102, TEMPLATE, http_status=500),
]

BLAMING: list[Code] = [
    Code(code, RECIPIENT, details=details)
    for code in (100, 131009)
    for details in ("The parameter to is required.", "Recipient phone number is not valid.")
]
"""The address is wrong, and nobody else's."""

UNKNOWN: list[Code] = _all(
    (139999, 131998, 1752041, 2388001, 147001, 138100, 131020, 999_999), UNHEARD_OF
)
"""Codes of the future, and of what is not sending."""

ONCE_EACH: list[Code] = [
    *(one for one in CODES if not 200 < one.code < 299),
    *BLAMING,
    *UNKNOWN[:2],
]
"""For tests that take their time: permissions have a hundred codes and one meaning."""

"""The parked messages, shown and left where they are."""

from collections.abc import Sequence
from typing import Any, Protocol

from sluice.domain.limits import PARKED_LOOK_SECONDS
from sluice.domain.parked import Parked, destination_of
from sluice.domain.standing import iso

PARKED_READ_MAX = 1_000
PARKED_SHOWN_MAX = 100
PARKED_BODY_CHARACTERS_MAX = 2_000
"""So many, and each may become twelve bytes, fit into what Lambda answers: 6 MB."""


class ParkedMessages(Protocol):
    """The parked queue."""

    def take(self, *, hidden_seconds: int) -> Sequence[Parked]:
        """Take some, hidden from others for so long; none: no more are to be seen."""

    def show_again(self, parked: Sequence[Parked]) -> None:
        """Let others see them at once."""

    def approximate_count(self) -> int:
        """Return how many there are, about."""


def parked(messages: ParkedMessages, *, wanted: str | None) -> dict[str, Any]:
    """Return parked messages as JSON, the oldest first, and leave them where they are.

    ``wanted`` is the id of one that is to be told whole; None: all, bounded, with excerpts.
    """
    seen: dict[str, Parked] = {}
    while len(seen) < PARKED_READ_MAX:
        batch = messages.take(hidden_seconds=PARKED_LOOK_SECONDS)
        if not batch:
            break
        seen |= {one.letter.message_id: one for one in batch}
    count = messages.approximate_count()
    messages.show_again(list(seen.values()))
    found = [one for one in seen.values() if wanted in (None, one.id)]
    oldest_first = sorted(found, key=lambda one: one.at.timestamp() if one.at else 0)
    length = PARKED_BODY_CHARACTERS_MAX if wanted is None else None
    return {
        "approximate_count": count,
        "read": len(seen),
        "parked": [_parked(one, length) for one in oldest_first[:PARKED_SHOWN_MAX]],
    }


def _parked(one: Parked, characters: int | None) -> dict[str, Any]:
    destination = destination_of(one)
    return {
        "id": one.id,
        "parked_at": iso(one.at),
        "step": one.step,
        "reasons": list(one.reasons),
        "attributes": dict(one.attributes),
        "body": one.body[:characters],
        "body_characters": len(one.body),
        "truncated": one.truncated,
        "cannot_return": destination if isinstance(destination, str) else None,
    }

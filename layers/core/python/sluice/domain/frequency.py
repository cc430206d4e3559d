"""How often one person may get marketing, whichever campaign it comes from."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from sluice.domain.limits import DAILY_LIMIT_SECONDS


@dataclass(frozen=True, slots=True)
class FrequencyCap:
    """At most so many marketing messages to a person within so many days, the new one included."""

    messages: int
    days: int

    @property
    def window(self) -> timedelta:
        """How far back messages count."""
        return timedelta(days=self.days)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return what ``{"messages": 2, "days": 7}`` says; None for ``null``: no cap.

        Raises ValueError, KeyError or TypeError for anything else.
        """
        values = json.loads(text)
        return None if values is None else cls(int(values["messages"]), int(values["days"]))


def contacts_kept(cap: FrequencyCap | None) -> timedelta:
    """Return how long a contact counts for somebody: the daily limit, or the cap."""
    day = timedelta(seconds=DAILY_LIMIT_SECONDS)
    return day if cap is None else max(day, cap.window)

"""Messages of which Meta says nothing more.

Meta, time to live: a message that was not delivered by the end of its time to live is dropped, and
nobody is told: "if you do not receive a delivered status before the TTL is exceeded, assume the
message was dropped".
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

TIME_TO_LIVE_DEFAULT: Final = timedelta(days=30)
AUTHENTICATION_TIME_TO_LIVE_DEFAULT: Final = timedelta(minutes=10)
"""Meta's own, of templates that set none."""
MARGIN: Final = timedelta(hours=1)
"""A webhook about the last moment may come so late; a later one still counts."""


@dataclass(frozen=True, slots=True)
class Unswept:
    """A campaign whose rows up to ``after`` were looked at."""

    campaign_id: int
    after: int
    time_to_live: timedelta


@dataclass(frozen=True, slots=True)
class Passed:
    """What a page came to: how far it reached, how many messages it ended, and if more follow."""

    after: int
    expired: int
    more: bool


def time_to_live(seconds: int | None, category: str) -> timedelta:
    """Return how long Meta tries to deliver a campaign's messages."""
    if seconds is not None:
        return timedelta(seconds=seconds)
    if category == "authentication":
        return AUTHENTICATION_TIME_TO_LIVE_DEFAULT
    return TIME_TO_LIVE_DEFAULT

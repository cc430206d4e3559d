"""What is erased, and how a person is found in what others wrote."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sluice.domain.suppressions import spellings

ERASED: Final = "erased"
"""The state of a campaign whose rows are gone or going, the reason of a suppression that is kept,
and what stands for the content of a direct send."""


@dataclass(frozen=True, slots=True)
class Walked:
    """One page of a walk through everything that is kept."""

    more: bool
    """There are pages left."""
    waits: bool = False
    """A message to the person is leaving just now: its rows are for the next run."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A campaign that may be erased, or why not."""

    campaign_id: int
    state: str
    kind: str
    over: bool
    """Its last row is final."""


def pattern_of(match_keys: Sequence[str]) -> str:
    """A regular expression, of Postgres and Python alike, for texts that name one of these people.

    A phone number is found with or without its +, a user id as it is, and neither within longer
    digits or words.
    """
    names = [re.escape(name) for key in match_keys for name in _names(key)]
    return f"(^|[^0-9A-Za-z])({'|'.join(sorted(names))})([^0-9A-Za-z]|$)"


def _names(key: str) -> list[str]:
    return [name.removeprefix("+") for name in spellings(key)]

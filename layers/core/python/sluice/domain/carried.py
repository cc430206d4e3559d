"""What became of a message that asks for something: done, not yet, or never."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sluice.domain.problems import Problem


@dataclass(frozen=True, slots=True)
class Done:
    """The message is dealt with."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    wake: bool = False
    """There is something to dispatch."""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Again:
    """The message must come back: there is more to do, or what it is about is not there yet."""

    in_seconds: int
    reason: str
    counts: Mapping[str, int] = field(default_factory=dict)
    """Of what was done meanwhile."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The message can never be carried out."""

    reasons: Sequence[str]


Carried = Done | Again | Refused


def refusal_of(problems: Sequence[Problem]) -> Refused:
    """Return the refusal of a message that is not a request."""
    return Refused([str(problem) for problem in problems])

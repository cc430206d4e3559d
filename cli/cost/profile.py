"""What a message uses, as the last local run measured it: ``make bench NAME=cost``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter

Basis = Literal["pace", "message", "time", "request"]
"""What a function runs for: the pace of a number, messages, the clock, or somebody who asks, which
no campaign counts."""

PROFILE: Final = Path(__file__).with_name("profile.json")


@dataclass(frozen=True, kw_only=True)
class FunctionUse:
    """Of one step's functions."""

    basis: Basis
    invocations_per_thousand: float
    """Messages, while a campaign runs."""
    billed_milliseconds: float
    """Of an invocation, the quickest tenth; of ``time``, the middle one, of an idle system."""
    billed_milliseconds_median: float
    log_bytes: int
    """Of an invocation, with the lines of Lambda itself."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One run."""

    measured_on: str
    people: int
    requests_per_message: float
    """To the Cloud API: over 1 where messages are sent again."""
    webhooks_per_message: float
    """With one status each, which is the dearest way."""
    functions: Mapping[str, FunctionUse]


def profile_of(values: Mapping[str, Any]) -> Profile:
    """The profile that these values are. Raises pydantic's ``ValidationError``."""
    return TypeAdapter(Profile).validate_python(values)


def read_profile(file: Path = PROFILE) -> Profile:
    """The committed profile, or another one."""
    return profile_of(json.loads(file.read_text(encoding="utf-8")))

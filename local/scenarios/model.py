"""What a scenario is: a story, and the world in which it is played."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from local.judge.judgement import Outcome
from local.scenarios.play import Play

Story = Callable[[Play], Outcome]
"""Plays something on the running system to its end, and tells what it came to."""


@dataclass(frozen=True)
class Scenario:
    """A story with a name."""

    name: str
    meaning: str
    """In one line, for who chooses."""
    story: Story
    simulation: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the config of the simulated Cloud API."""
    stage: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the settings of the stage."""
    seconds_max: float = 900.0
    """From the start of the story to its last status: a bound, several times what it takes."""

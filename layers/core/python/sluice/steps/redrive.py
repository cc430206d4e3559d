"""Redrive: dead letters back to their queues, late, few at a time, and not for ever."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sluice.domain.backoff import full_jitter_seconds
from sluice.domain.clock import Clock
from sluice.domain.letter import Letter
from sluice.domain.limits import (
    REDRIVE_BACKOFF_SECONDS_BASE,
    REDRIVES_MAX,
    SQS_DELAY_SECONDS_MAX,
)

RUN_SECONDS = 45.0
RUN_EVERY_SECONDS = 60.0


class Route(Protocol):
    """A queue and its dead-letter queue."""

    name: str
    messages_per_second: float
    """The most that may be redriven."""

    def take(self, *, limit: int) -> Sequence[Letter]:
        """Take dead letters, ten at most; they come back unless they are buried."""

    def send(self, letter: Letter, *, redrives: int, delay_seconds: int) -> None:
        """Send it to the queue again, so many times redriven now."""

    def park(self, letter: Letter, reason: str) -> None:
        """Keep it where a person looks."""

    def bury(self, letter: Letter) -> None:
        """Delete it from the dead-letter queue."""


@dataclass(slots=True)
class Redriven:
    """What a run did, by route."""

    redriven: dict[str, int] = field(default_factory=dict)
    parked: dict[str, int] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)


def redrive(
    *,
    routes: Iterable[Route],
    clock: Clock,
    dice: Callable[[], float],
) -> Redriven:
    """Move what a minute's share of each route allows.

    Each letter is sent before it is deleted: killed between, it is there twice, which every step
    bears, and never gone. What no step can read never comes here: the steps park it themselves.
    """
    done = Redriven()
    stop_at = clock.monotonic() + RUN_SECONDS
    for route in routes:
        try:
            _empty(route, stop_at, clock, dice, done)
        except Exception as error:  # noqa: BLE001 - reported; the other routes go on
            done.failures[route.name] = error
    return done


def _empty(
    route: Route, stop_at: float, clock: Clock, dice: Callable[[], float], done: Redriven
) -> None:
    allowance = max(1, int(route.messages_per_second * RUN_EVERY_SECONDS))
    while allowance > 0 and clock.monotonic() < stop_at:
        letters = route.take(limit=allowance)
        if not letters:
            return
        for letter in letters:
            _move(route, letter, dice, done)
        allowance -= len(letters)


def _move(
    route: Route,
    letter: Letter,
    dice: Callable[[], float],
    done: Redriven,
) -> None:
    redrives = letter.redrives
    if redrives >= REDRIVES_MAX:
        route.park(letter, f"failed again after {redrives} redrives")
        done.parked[route.name] = done.parked.get(route.name, 0) + 1
    else:
        delay = full_jitter_seconds(
            attempt=redrives,
            base_seconds=REDRIVE_BACKOFF_SECONDS_BASE,
            cap_seconds=SQS_DELAY_SECONDS_MAX,
            dice=dice(),
        )
        route.send(letter, redrives=redrives + 1, delay_seconds=int(delay))
        done.redriven[route.name] = done.redriven.get(route.name, 0) + 1
    route.bury(letter)

"""What may go wrong, how often, and the dice that say when: one for each kind, from the seed."""

from collections import Counter
from collections.abc import Collection, Mapping
from random import Random
from typing import Final

from tests.simulation.virtual import VirtualWorld

FAULTS: Final[Mapping[str, float]] = {
    # A process, wherever it lets others see what it did.
    "crash": 0.01,
    "stall": 0.004,
    "invoked twice": 0.02,
    "redeployed": 0.002,
    "clock stepped back": 0.01,
    # Postgres, at each piece of work.
    "database: nothing done": 0.01,
    "database: answer lost": 0.01,
    "database: slow commit": 0.02,
    "database: away": 0.0005,
    # SNS and SQS, at each call or message.
    "queue: call refused": 0.01,
    "queue: answer lost": 0.01,
    "queue: entry not taken": 0.01,
    "queue: delivered twice": 0.03,
    "queue: late": 0.05,
    "queue: lost": 0.003,
    # The Cloud API, at each request.
    "api: answer lost": 0.08,
    "api: nothing sent": 0.01,
    "api: throttled": 0.004,
    "api: refused for a while": 0.03,
    "api: refused for good": 0.03,
    "api: slow": 0.03,
    "api: away": 0.001,
    # Webhooks, at each message or POST.
    "webhook: failed for a while": 0.04,
    "webhook: failed for good": 0.04,
    "webhook: all lost": 0.06,
    "webhook: one lost": 0.05,
    "webhook: twice": 0.1,
    "webhook: out of order": 0.2,
    "webhook: days late": 0.05,
    "webhook: without our id": 0.05,
    # People.
    "order": 0.5,
}
"""The chance of each, every time that it may happen."""


class Faults:
    """Says whether something goes wrong now. After ``until``, in virtual seconds, nothing does."""

    def __init__(
        self, seed: int, world: VirtualWorld, *, until: float, without: Collection[str] = ()
    ) -> None:
        self._world = world
        self._until = until
        self._without = frozenset(without)
        self._dice = {kind: Random(f"{seed} {kind}") for kind in FAULTS}
        self.struck: Counter[str] = Counter()

    def strikes(self, kind: str) -> bool:
        """Roll the die of this kind."""
        unlucky = self._dice[kind].random() < FAULTS[kind]
        if not unlucky or kind in self._without or self._world.now > self._until:
            return False
        self.struck[kind] += 1
        return True

    def between(self, kind: str, least: float, most: float) -> float:
        """How much, by the die of this kind."""
        return self._dice[kind].uniform(least, most)

    def one_of(self, kind: str, things: list[str]) -> str:
        """Which, by the die of this kind."""
        return self._dice[kind].choice(things)

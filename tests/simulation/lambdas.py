"""Lambda: environments that come, freeze and die, and event sources that invoke them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
from botocore.exceptions import ClientError
from psycopg import OperationalError

from sluice.adapters.postgres.access import parameters_of
from sluice.adapters.postgres.connection import (
    Database,
    DatabaseAwayError,
    Result,
)
from sluice.adapters.queues import NotTakenError
from tests.simulation.faults import Faults
from tests.simulation.queues import Client, SimulatedAws, event_of
from tests.simulation.virtual import Killed, VirtualClock, VirtualWorld


class Machine:
    """What all environments share: the world with its faults, the queues, one Postgres."""

    def __init__(
        self, world: VirtualWorld, faults: Faults, aws: SimulatedAws, database_url: str
    ) -> None:
        self.world = world
        self.faults = faults
        self.aws = aws
        self.database_url = database_url
        self.database_away_until = -1.0
        self.version = 0
        """Of the deployment: environments of an older one take no more invocations."""


class Environment:
    """A process of one function: its own connection, its own clock, whatever it remembers."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.version = machine.version
        skew = machine.faults.between("clock stepped back", -0.5, 0.5)
        self.clock = VirtualClock(machine.world, skew_seconds=skew)
        self.database = SimulatedDatabase(self)
        self.client: Client = machine.aws.client(self.clock, self.point)
        self.disturbed_at = -1e9
        """When something last took much longer than it should."""
        self.kept: dict[str, Any] = {}
        """What the function builds once."""

    def disturb(self) -> None:
        """Remember that nobody may be blamed for being late now."""
        self.disturbed_at = self.machine.world.now

    def point(self) -> None:
        """A moment at which others have seen what was done so far: the process may die, or stop."""
        faults = self.machine.faults
        if faults.strikes("crash"):
            raise Killed
        if faults.strikes("stall"):
            self.disturb()
            self.clock.sleep(faults.between("stall", 0.5, 8.0))
            self.disturb()
        if faults.strikes("clock stepped back"):
            self.clock.skew_seconds -= faults.between("clock stepped back", 0.0, 1.0)
        if faults.strikes("redeployed"):
            self.machine.version += 1


class SimulatedDatabase(Database):
    """The real connection with its real patience, and work of which the answer may be lost.

    A piece of work is one moment for everybody else: nothing waits for a lock of somebody who
    waits for time to pass.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        url = environment.machine.database_url
        super().__init__(parameters_of(url, with_iam=False, client=lambda _: None))

    def run(
        self,
        work: Callable[[psycopg.Connection[tuple[Any, ...]]], Result],
        *,
        patience_seconds: float | None = None,
    ) -> Result:
        self._environment.point()
        result = super().run(self._faulty(work), patience_seconds=patience_seconds)
        self._environment.point()
        return result

    def _faulty(
        self, work: Callable[[psycopg.Connection[tuple[Any, ...]]], Result]
    ) -> Callable[[psycopg.Connection[tuple[Any, ...]]], Result]:
        machine, clock = self._environment.machine, self._environment.clock
        faults = machine.faults

        def at_last(connection: psycopg.Connection[tuple[Any, ...]]) -> Result:
            clock.sleep(machine.aws.dice.uniform(0.001, 0.005))
            if faults.strikes("database: away"):
                away = faults.between("database: away", 2.0, 40.0)
                machine.database_away_until = machine.world.now + away
            if machine.database_away_until > machine.world.now:
                self._environment.disturb()
            if machine.database_away_until > machine.world.now:
                raise OperationalError("away")
            if faults.strikes("database: nothing done"):
                raise OperationalError("rolled back")
            result = work(connection)
            if faults.strikes("database: slow commit"):
                self._environment.disturb()
                clock.sleep(faults.between("database: slow commit", 0.05, 3.0))
            if faults.strikes("database: answer lost"):
                raise OperationalError("committed, and the answer lost")
            return result

        return at_last


Handler = Callable[[Mapping[str, Any], Environment, float], Any]
"""``(event, environment, deadline)`` to the answer."""


@dataclass(slots=True)
class Function:
    """A function with its reserved concurrency; with a queue it has an event source."""

    name: str
    machine: Machine
    handler: Handler
    timeout_seconds: float
    concurrency: int
    queue: str | None = None
    batch: int = 10
    ended: Callable[[str], None] = lambda _: None
    """Told after each invocation, by the function's name."""
    running: int = 0
    idle: list[Environment] = field(default_factory=list)

    def poll(self) -> None:
        """Begin batches while there are messages and executions."""
        assert self.queue is not None
        while self.running < self.concurrency:
            taken = self.machine.aws.take(self.queue, self.batch)
            if not taken:
                return
            queue = self.queue

            def finish(answer: Any, queue: str = queue, taken: list[Any] = taken) -> None:
                failed = {
                    one["itemIdentifier"] for one in (answer or {}).get("batchItemFailures", ())
                }
                if answer is not None:
                    for held in taken:
                        if held.message_id not in failed:
                            self.machine.aws.drop(queue, held.handle)
                self.poll()

            self.invoke(event_of(taken), finish)

    def invoke_later(self, event: Mapping[str, Any]) -> None:
        """Invoke without waiting; while all executions are taken, again later."""
        if self.running >= self.concurrency:
            self.machine.world.after(5.0, lambda: self.invoke_later(event))
        else:
            self.invoke(event, lambda _: None)

    def invoke(self, event: Mapping[str, Any], finish: Callable[[Any], None]) -> None:
        """Run once, in turns with everything else; ``finish`` is told None where it failed."""
        self.running += 1
        self.machine.world.start(lambda: self._run(event, finish))

    def call(self, event: Mapping[str, Any]) -> Any:
        """Run within the running task, as a request does, and return the answer; None: failed."""
        self.running += 1
        answers: list[Any] = []
        self._run(event, answers.append)
        return answers[0]

    def _run(self, event: Mapping[str, Any], finish: Callable[[Any], None]) -> None:
        world, answer = self.machine.world, None
        environment = self._environment()
        task = world.running
        assert task is not None
        over = False

        def time_out() -> None:
            if not over:
                task.kill()

        world.after(self.timeout_seconds, time_out)
        alive = True
        try:
            deadline = environment.clock.monotonic() + self.timeout_seconds
            answer = self.handler(event, environment, deadline)
            environment.point()
        except Killed:
            alive, answer, task.killed = False, None, False
        except (DatabaseAwayError, ClientError, NotTakenError):
            pass  # the function fails, and what it had comes again
        over = True
        self._put_back(environment, alive=alive)
        self.running -= 1
        self.ended(self.name)
        finish(answer)

    def _environment(self) -> Environment:
        while self.idle:
            environment = self.idle.pop()
            if environment.version == self.machine.version:
                self.machine.world.sleep(0.005)
                return environment
            environment.database.close()
        self.machine.world.sleep(self.machine.aws.dice.uniform(0.3, 1.0))
        return Environment(self.machine)

    def _put_back(self, environment: Environment, *, alive: bool) -> None:
        if alive and environment.version == self.machine.version:
            self.idle.append(environment)
        else:
            environment.database.close()

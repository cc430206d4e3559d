"""Virtual time: what runs at once runs in turns, one thread at a time, in an order of the seed."""

import heapq
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from threading import Semaphore, Thread
from typing import Final, NoReturn

from tests.conftest import NOW

TURN_SECONDS_MAX: Final = 60.0
"""Of real time: a turn that lasts longer waits for a lock of somebody who waits for a turn."""


class Killed(BaseException):
    """The process is gone: nothing of it may go on, not even what handles exceptions."""


class Task:
    """Something that runs, and gives the turn away where time passes."""

    def __init__(self, world: "VirtualWorld", work: Callable[[], None]) -> None:
        self.world = world
        self.killed = False
        self.begun = False
        self.over = False
        self._turn = Semaphore(0)
        self._thread = Thread(target=self._run, args=(work,), daemon=True)

    def begin(self) -> None:
        """Take the first turn."""
        self.begun = True
        self._thread.start()
        self.take_turn()

    def take_turn(self) -> None:
        """Run until time passes, or to the end. Called by the world."""
        if self.over:
            return
        self.world.running = self
        self._turn.release()
        if not self.world.turn.acquire(timeout=TURN_SECONDS_MAX):
            raise TimeoutError("a turn does not end: two tasks wait for each other")
        self.world.running = None

    def wait_until(self, moment: float) -> None:
        """Let time pass. Raises Killed where the task was killed meanwhile."""
        self.world.at(moment, self.take_turn)
        while True:
            self.world.turn.release()
            self._turn.acquire()
            if self.killed:
                raise Killed
            if self.world.now >= moment:
                return
            # The turn was of a wait that a kill had ended: this one is not over.

    def kill(self) -> None:
        """End it where it waits."""
        self.killed = True
        self.take_turn()

    def _run(self, work: Callable[[], None]) -> None:
        self._turn.acquire()
        try:
            work()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - told by the world, in its own thread
            self.world.failure = self.world.failure or error
        self.over = True
        self.world.turn.release()


class VirtualWorld:
    """Events in the order of their moments; ``now`` is in seconds since NOW."""

    def __init__(self) -> None:
        self.now = 0.0
        self.turn = Semaphore(0)
        self.running: Task | None = None
        self.failure: BaseException | None = None
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._tasks: list[Task] = []

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Let something happen then."""
        heapq.heappush(self._events, (max(moment, self.now), next(self._order), action))

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Let something happen so much later."""
        self.at(self.now + seconds, action)

    def start(self, work: Callable[[], None]) -> Task:
        """Run ``work`` in turns with everything else, from now on."""
        task = Task(self, work)
        self._tasks.append(task)
        self.after(0.0, task.begin)
        return task

    def close(self) -> None:
        """End what still waits."""
        for task in self._tasks:
            if task.begun:
                task.kill()

    def sleep(self, seconds: float) -> None:
        """Let the running task wait; without one, as while the world is set up, time passes."""
        if self.running is None:
            self.now += max(0.0, seconds)
        else:
            self.running.wait_until(self.now + max(0.0, seconds))

    def violated(self, failure: BaseException) -> NoReturn:
        """End everything, whatever the code that runs would make of an exception."""
        self.failure = self.failure or failure
        raise Killed

    def step(self) -> bool:
        """Let the next thing happen; False: there is none. Raises what a task raised."""
        if not self._events:
            return False
        moment, _, action = heapq.heappop(self._events)
        self.now = max(self.now, moment)
        action()
        if self.failure is not None:
            raise self.failure
        return True


class VirtualClock:
    """The clock of one environment, as far from the true time as that of a machine may be."""

    def __init__(self, world: VirtualWorld, *, skew_seconds: float = 0.0) -> None:
        self._world = world
        self.skew_seconds = skew_seconds

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self._world.now + self.skew_seconds)

    def monotonic(self) -> float:
        return self._world.now

    def time(self) -> float:
        return self.now().timestamp()

    def sleep(self, seconds: float) -> None:
        self._world.sleep(seconds)

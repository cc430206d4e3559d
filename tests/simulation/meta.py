"""The Cloud API in virtual time: what it takes it writes down, and tells by signed webhooks."""

import heapq
import json
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

from local.cloud_api.config import Number
from local.cloud_api.errors import Refusal, error_body
from local.cloud_api.messages import Send, answer, read_send, wamid_of
from local.cloud_api.payloads import StatusUpdate, signature, webhook_body
from local.cloud_api.plan import Planned
from sluice.adapters.cloud_api import NOT_CONNECTED, NOT_CONNECTED_SECONDS
from sluice.domain.delivery import Status
from sluice.domain.errors import classify_answer
from sluice.domain.limits import HTTP_READ_TIMEOUT_SECONDS
from sluice.domain.outcomes import Outcome, Throttled, Unknown
from tests.simulation.faults import Faults
from tests.simulation.lambdas import Environment
from tests.simulation.virtual import VirtualClock, VirtualWorld

APP_SECRET: Final = "simulated-app-secret"
IN_FLIGHT_MAX: Final = 16
RETRY_CODES: Final = ["131000", "131016", "131056"]
FINAL_CODES: Final = ["131026", "131021", "131008"]
FAILED_RETRY_CODES: Final = ["131000", "131016"]
DAY: Final = 86_400.0

Key = tuple[int, int]
"""(campaign_id, seq)"""


@dataclass(slots=True)
class Accepted:
    """A message that was taken."""

    key: Key
    attempt: int
    recipient: str
    at: float
    wamid: str
    disturbed_at: float
    """When its sender last was much slower than it should be."""
    with_id: bool = True
    """Whether its webhooks carry our id: without it only a recorded wamid finds the row."""
    released: bool = False
    """Meta has given it up for a reason that may pass: another attempt is right."""
    told: list[Status] = field(default_factory=list)
    """What webhooks brought that were answered by 200."""


class ViolationError(AssertionError):
    """Something that must never happen has."""


class Meta:
    """The ledger, and the webhooks that follow from it."""

    def __init__(
        self, world: VirtualWorld, faults: Faults, dice: Random, *, cap: int, number: str
    ) -> None:
        self.world = world
        self.faults = faults
        self.dice = dice
        self.cap = cap
        self.numbers = {number: Number(cap)}
        self.accepted: dict[Key, list[Accepted]] = defaultdict(list)
        self.requests = 0
        self.posts_open = 0
        """Webhooks that were not answered by 200 yet."""
        self.post: Callable[[bytes, str], bool] = lambda _body, _signature: False
        """Brings a webhook to the engine; whether it answered 200."""
        self.may_accept: Callable[[Accepted], None] = lambda _: None
        """Looks at what is taken, and raises ViolationError."""
        self.away_until = -1.0
        self._departed: deque[float] = deque()

    def departed(self) -> None:
        """Count a request in the second that ends now."""
        now = self.world.now
        self._departed.append(now)
        while self._departed[0] <= now - 1.0:
            self._departed.popleft()
        if len(self._departed) > self.cap:
            what = f"{len(self._departed)} requests in a second, the cap is {self.cap}"
            self.world.violated(ViolationError(what))

    def receive(
        self, number: str, body: Mapping[str, Any], *, disturbed_at: float
    ) -> tuple[float, Outcome]:
        """Take or refuse a request; returns seconds until the answer, and what it comes to."""
        self.requests += 1
        latency = self.dice.lognormvariate(-1.6, 0.5)
        if self.faults.strikes("api: away"):
            self.away_until = self.world.now + self.faults.between("api: away", 5.0, 90.0)
        if self.away_until > self.world.now:
            return latency, classify_answer(503, b"", {})
        if self.faults.strikes("api: throttled"):
            return latency, _refused(130429)
        if self.faults.strikes("api: refused for a while"):
            return latency, _refused(
                int(self.faults.one_of("api: refused for a while", RETRY_CODES))
            )
        if self.faults.strikes("api: refused for good"):
            return latency, _refused(int(self.faults.one_of("api: refused for good", FINAL_CODES)))
        send = read_send(json.dumps(body).encode(), "1")
        if not isinstance(send, Send):
            self.world.violated(ViolationError(f"a request that Meta cannot read: {send}"))
        wamid = self._accept(number, send, disturbed_at)
        if self.faults.strikes("api: slow"):
            latency += self.faults.between("api: slow", 3.0, 9.0)
        if self.faults.strikes("api: answer lost") or latency > HTTP_READ_TIMEOUT_SECONDS:
            return HTTP_READ_TIMEOUT_SECONDS, Unknown("ReadTimeout")
        content = json.dumps(answer(send, wamid, held=False)).encode()
        return latency, classify_answer(200, content, {})

    def _accept(self, number: str, send: Send, disturbed_at: float) -> str:
        campaign_id, seq, attempt = map(int, send.opaque_id.split(":"))
        wamid = wamid_of(send.recipient, self.requests, 7)
        accepted = Accepted(
            (campaign_id, seq), attempt, send.recipient, self.world.now, wamid, disturbed_at
        )
        try:
            self.may_accept(accepted)
        except ViolationError as violation:
            self.world.violated(violation)
        self.accepted[accepted.key].append(accepted)
        for planned in self._planned(accepted):
            self.posts_open += 1
            update = StatusUpdate(
                number, send, wamid, planned, self._unix(self.world.now + planned.occurs)
            )
            self.world.after(planned.posted, lambda update=update: self._tell(accepted, update))
        return wamid

    def _planned(self, accepted: Accepted) -> list[Planned]:
        """What becomes of a message, and when its webhooks are posted."""
        strikes = self.faults.strikes
        if strikes("webhook: all lost"):
            return []
        sent = self.dice.uniform(0.1, 2.0)
        if strikes("webhook: failed for a while"):
            code = self.faults.one_of("webhook: failed for a while", FAILED_RETRY_CODES)
            life = [("sent", sent, None), ("failed", sent + 3.0, int(code))]
        elif strikes("webhook: failed for good"):
            life = [("failed", sent, 131026)]
        else:
            life = [("sent", sent, None), ("delivered", sent + self.dice.uniform(0.5, 30), None)]
            if self.dice.random() < 0.5:
                life.append(("read", sent + self.dice.uniform(31, 300), None))
        accepted.with_id = not strikes("webhook: without our id")
        late = self.faults.between("webhook: days late", 1.0, 3.0) * DAY
        late = late if strikes("webhook: days late") else 0.0
        planned = []
        for status, occurs, code in life:
            if strikes("webhook: one lost"):
                continue
            posted = occurs + self.dice.uniform(0.05, 1.0) + late
            if strikes("webhook: out of order"):
                posted += self.faults.between("webhook: out of order", 1.0, 900.0)
            one = Planned(status, occurs, posted, code, "simulated", with_opaque=accepted.with_id)
            planned += [one, one] if strikes("webhook: twice") else [one]
        return planned

    def _tell(self, accepted: Accepted, update: StatusUpdate) -> None:
        """Post a status until it is answered by 200, as Meta does for days."""
        if update.planned.code is not None and str(update.planned.code) in FAILED_RETRY_CODES:
            accepted.released = True
        body = webhook_body([update], self.numbers, "utility")

        def post() -> None:
            if self.post(body, signature(APP_SECRET, body)):
                accepted.told.append(Status[update.planned.status.upper()])
                self.posts_open -= 1
            else:
                self.world.after(30.0, lambda: self.world.start(post))

        self.world.start(post)

    @staticmethod
    def _unix(now: float) -> float:
        return VirtualClock(_At(now)).time()


class _At:
    def __init__(self, now: float) -> None:
        self.now = now


def _refused(code: int) -> Outcome:
    content = json.dumps(error_body(Refusal(code, details="simulated"), "trace")).encode()
    return classify_answer(400, content, {})


class SimulatedCloudApi:
    """The port of one sender's environment, over one Meta."""

    def __init__(self, meta: Meta, environment: Environment, number: str) -> None:
        self._meta = meta
        self._environment = environment
        self._clock = environment.clock
        self._number = number
        self._answers: list[tuple[float, int, Hashable, Outcome]] = []
        self._order = count()

    @property
    def in_flight(self) -> int:
        return len(self._answers)

    @property
    def full(self) -> bool:
        return len(self._answers) >= IN_FLIGHT_MAX

    def latencies(self) -> list[float]:
        return []

    def prepare(self) -> None:
        pass

    def start(self, name: Hashable, body: Mapping[str, Any], *, due_at: float) -> float:
        self._environment.point()
        self._clock.sleep(due_at - self._clock.monotonic())
        left_at = self._clock.monotonic()
        if self._meta.faults.strikes("api: nothing sent"):
            outcome: Outcome = Throttled(NOT_CONNECTED, "refused", NOT_CONNECTED_SECONDS)
            seconds = 0.1
        else:
            self._meta.departed()
            seconds, outcome = self._meta.receive(
                self._number, body, disturbed_at=self._environment.disturbed_at
            )
        heapq.heappush(self._answers, (left_at + seconds, next(self._order), name, outcome))
        self._environment.point()
        return left_at

    def take(self, *, timeout_seconds: float) -> list[tuple[Hashable, Outcome]]:
        now = self._clock.monotonic()
        if self._answers and timeout_seconds > 0 and self._answers[0][0] > now:
            self._clock.sleep(min(timeout_seconds, self._answers[0][0] - now))
        taken = []
        while self._answers and self._answers[0][0] <= self._clock.monotonic():
            _, _, name, outcome = heapq.heappop(self._answers)
            taken.append((name, outcome))
        return taken

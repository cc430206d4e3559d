"""The whole engine in virtual time: its handlers, their real adapters and a real Postgres."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from unittest.mock import patch

from functions.campaign.handler import handle as campaign
from functions.command.handler import handle as command
from functions.dispatch.handler import handle as dispatch
from functions.reconcile.handler import handle as reconcile
from functions.redrive.handler import handle as redrive
from functions.send.handler import handle as send
from functions.status.handler import handle as status
from functions.webhook.handler import handle as webhook
from sluice.adapters.events import Inbox
from sluice.adapters.postgres import connection as postgres_connection
from sluice.adapters.postgres.audit import Audit
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.claims import Claims
from sluice.adapters.postgres.limits import Limits
from sluice.adapters.postgres.loads import Loads
from sluice.adapters.postgres.media import Media
from sluice.adapters.postgres.orders import Orders
from sluice.adapters.postgres.picks import Picks
from sluice.adapters.postgres.reconciliations import Reconciliations
from sluice.adapters.postgres.resends import Resends
from sluice.adapters.postgres.saved_audiences import SavedAudiences
from sluice.adapters.postgres.silences import Silences
from sluice.adapters.postgres.stages import Stages
from sluice.adapters.postgres.statuses import Statuses
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.postgres.suppression_lists import SuppressionLists
from sluice.adapters.postgres.suppressions import Suppressions
from sluice.adapters.postgres.templates import Templates
from sluice.adapters.queues import Parking, Queue, Route, Topic, WebhookOutbox
from sluice.domain import limits
from sluice.domain.lanes import SlotPace
from sluice.domain.pairs import Pairs
from sluice.steps.campaign.check import TemplateCheck
from sluice.steps.campaign.media import HeaderMedia
from sluice.steps.campaign.start import Preparation
from tests.conftest import NUMBER, TEMPLATE
from tests.simulation.faults import Faults
from tests.simulation.invariants import Invariants
from tests.simulation.lambdas import Environment, Function, Machine
from tests.simulation.meta import APP_SECRET, DAY, Meta, SimulatedCloudApi, ViolationError
from tests.simulation.queues import DEAD, TOPIC, SimulatedAws, published
from tests.simulation.virtual import VirtualWorld

CAP: Final = 4
SLOTS: Final = 2
SEND_QUEUE: Final = f"send-{NUMBER}-bulk"
CAMPAIGN: Final = "reminder"
ORDER_EVERY_SECONDS: Final = 8.0
ORDERS: Final = ["pause", "resume", "pause", "resume", "prioritise", "number"]
ORDERS_BEFORE_CANCEL: Final = 1
ORDERS_LATE_SECONDS: Final = 60.0
"""An order may come so late, and again."""
TICK_SECONDS: Final = 60.0
IDLE_TICK_SECONDS: Final = 6 * 3600.0
END_SECONDS: Final = 8 * 3600.0
"""So long after the last fault everybody must have come to an end."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run, all of it decided by these."""

    seed: int
    recipients: int = 120
    faults_seconds: float = 300.0
    """For so long things go wrong; then they stop, and everything must come to its end."""
    without: Collection[str] = ()
    """Kinds of faults that do not happen."""

    @property
    def resends(self) -> bool:
        """Whether the campaign sends again what it does not know."""
        return self.seed % 3 == 0

    @property
    def cancels(self) -> bool:
        """Whether somebody cancels it."""
        return self.seed % 4 == 0


class Silent:
    """Telemetry that keeps only what failed."""

    def __init__(self, trace: Callable[[str], None]) -> None:
        self._trace = trace

    def report(self, message: str, **told: Any) -> None:
        if message in {"parked", "comes again"}:
            self._trace(f"{message}: {told}")

    def warn(self, message: str, **facts: Any) -> None:
        self._trace(f"{message}: {facts}")

    def fail(self, message: str, error: BaseException, **_facts: Any) -> None:
        self._trace(f"{message}: {type(error).__name__} {error}")


class System:
    """Builds everything, and lets it run to its end."""

    def __init__(self, plan: Plan, database_url: str) -> None:
        self.plan = plan
        self.world = VirtualWorld()
        dice = Random(f"{plan.seed} everything else")
        self.dice = dice.random
        self.faults = Faults(plan.seed, self.world, until=plan.faults_seconds, without=plan.without)
        self.aws = SimulatedAws(self.world, self.faults, dice)
        self.machine = Machine(self.world, self.faults, self.aws, database_url)
        self.meta = Meta(self.world, self.faults, dice, cap=CAP, number=NUMBER)
        self.trace: list[str] = []
        self._finished_at = 0.0
        self.telemetry: Any = Silent(self.note)
        self.invariants = Invariants(self.meta, database_url, resends=plan.resends)
        self.meta.may_accept = self.invariants.may_accept
        self.meta.post = self._post
        self._functions()

    def note(self, what: str) -> None:
        """Keep it for whoever looks into a run that failed."""
        self.trace.append(f"{self.world.now:12.3f} {what}")

    def run(self) -> "System":
        """Let a campaign run to its end. Raises ViolationError, with the seed in its text."""
        shim = _Time(self.world)
        try:
            with (
                patch.object(postgres_connection, "time", shim),
                patch.object(postgres_connection, "random", self.dice),
            ):
                self._begin()
                while not self._is_over():
                    self.invariants.end_in_time(self.world.now, by=self._ends_by())
                    self.world.step()
                self.invariants.at_the_end(self.aws)
        except BaseException as error:
            raise ViolationError(f"{self.plan}: {type(error).__name__}: {error}") from error
        finally:
            self.world.close()
            self.invariants.close()
            for function in self.functions.values():
                for environment in function.idle:
                    environment.database.close()
        return self

    def _ends_by(self) -> float:
        """When somebody must look; what Meta tells days later may open a campaign again."""
        if self.invariants.is_finished():
            self._finished_at = self.world.now
        return (
            max(self.plan.faults_seconds, self._finished_at)
            + END_SECONDS
            + 4 * DAY * (self.invariants.is_finished())
        )

    def _begin(self) -> None:
        request = {
            "kind": "campaign",
            "campaign": CAMPAIGN,
            "template": TEMPLATE,
            "numbers": [NUMBER],
            "category": "utility",
            "audience": {
                "recipients": [
                    {"address": f"+4915155{seq:06d}", "parameters": {"name": "Ada"}}
                    for seq in range(1, self.plan.recipients + 1)
                ]
            },
            "unknown_policy": "resend" if self.plan.resends else "leave",
            "unknown_window_seconds": 120,
            "time_to_live_seconds": 3600,
        }
        self._publish(request)
        self._publish(request)
        self._tick()
        self.world.after(ORDER_EVERY_SECONDS, self._order)
        self.world.at(self.plan.faults_seconds + ORDERS_LATE_SECONDS, self._calm)

    def _is_over(self) -> bool:
        return (
            self.world.now > self.plan.faults_seconds + ORDERS_LATE_SECONDS + TICK_SECONDS
            and self.meta.posts_open == 0
            and self.invariants.is_finished()
            and not any(function.running for function in self.functions.values())
            and not self.aws.queues["statuses.fifo"].messages
            and not self.aws.queues["statuses.fifo" + DEAD].messages
        )

    def _calm(self) -> None:
        """From now on nothing goes wrong, and whoever stopped something lets it go on."""
        self.note("calm")
        self._publish({"kind": "command", "action": "resume", "phone_number_id": NUMBER})
        self._publish({"kind": "command", "action": "resume", "campaign": CAMPAIGN})

    def _order(self) -> None:
        if self.world.now >= self.plan.faults_seconds:
            return
        self.world.after(ORDER_EVERY_SECONDS, self._order)
        if self.faults.strikes("order"):
            action = self.faults.one_of("order", ORDERS)
            if self.plan.cancels and self.faults.struck["order"] == ORDERS_BEFORE_CANCEL:
                action = "cancel"
            order: dict[str, Any] = {"kind": "command", "action": action, "campaign": CAMPAIGN}
            if action == "prioritise":
                order["priority"] = "deferrable"
            if action == "number":
                order = {"kind": "command", "action": "pause", "phone_number_id": NUMBER}
            self.note(f"order {order}")
            self._publish(order)

    def _publish(self, request: Mapping[str, Any]) -> None:
        body, attributes = published(request, kind=request["kind"])
        self.aws.publish(body, attributes)

    def _tick(self) -> None:
        """What the schedules do every minute."""
        busy = not self.invariants.is_finished() or self.meta.posts_open == 0
        seconds = TICK_SECONDS if busy else IDLE_TICK_SECONDS
        self.world.after(seconds, self._tick)
        for name in ("dispatch", "reconcile", "redrive"):
            for _ in range(2 if self.faults.strikes("invoked twice") else 1):
                self.functions[name].invoke_later({})

    def _post(self, body: bytes, signed: str) -> bool:
        event = {
            "requestContext": {"http": {"method": "POST"}},
            "headers": {"x-hub-signature-256": signed},
            "body": body.decode(),
        }
        answer = self.functions["webhook"].call(event)
        return answer is not None and answer["statusCode"] == 200

    def _functions(self) -> None:
        self.functions: dict[str, Function] = {}
        self._add("campaign", self._campaign, limits.CAMPAIGN_TIMEOUT_SECONDS, 2, "campaign", 1)
        self._add("command", self._command, limits.COMMAND_TIMEOUT_SECONDS, 2, "command", 1)
        self._add("send", self._send, limits.SEND_TIMEOUT_SECONDS, SLOTS, SEND_QUEUE, 4)
        self._add("status", self._status, limits.STATUS_TIMEOUT_SECONDS, 4, "statuses.fifo", 10)
        self._add("webhook", self._webhook, limits.WEBHOOK_TIMEOUT_SECONDS, 1_000)
        self._add("dispatch", self._dispatch, limits.DISPATCH_TIMEOUT_SECONDS, 1)
        self._add("reconcile", self._reconcile, 60.0, 1)
        self._add("redrive", self._redrive, limits.REDRIVE_TIMEOUT_SECONDS, 1)
        self.aws.add("signals", timeout_seconds=60)
        self.aws.add("parked", timeout_seconds=60)

    def _add(
        self,
        name: str,
        handler: Callable[[Mapping[str, Any], Environment, float], Any],
        timeout_seconds: float,
        concurrency: int,
        queue: str | None = None,
        batch: int = 10,
    ) -> None:
        function = Function(
            name, self.machine, handler, timeout_seconds, concurrency, queue, batch,
            ended=self._ended,
        )  # fmt: skip
        self.functions[name] = function
        if queue is not None:
            made = self.aws.add(
                queue, timeout_seconds=timeout_seconds, fifo=queue.endswith(".fifo")
            )
            made.heard = function.poll

    def _ended(self, name: str) -> None:
        self.note(f"{name} ended")
        self.invariants.hold(self.world.now)

    def _inbox(self, at: Environment, step: str) -> Inbox:
        return Inbox(
            step,
            _Visible(at.client, step),
            self._parking(at),
            _Waker(self),
            self.telemetry,
            Audit(at.database),
        )

    def _parking(self, at: Environment) -> Parking:
        return Parking(Queue(at.client, url="parked"))

    def _campaign(self, event: Mapping[str, Any], at: Environment, deadline: float) -> Any:
        check = TemplateCheck("off", dict, Templates(at.database), _nothing(), at.clock)
        media = HeaderMedia(_nothing(), Media(at.database), _nothing(), at.clock)
        return campaign(
            event,
            campaigns=Campaigns(at.database),
            loads=Loads(at.database, approval_above=None),
            audiences=_nothing(),
            saved=SavedAudiences(at.database),
            stops=Stops(at.database),
            lists=SuppressionLists(at.database),
            suppressions=Suppressions(at.database),
            uploads=_nothing(),
            preparation=Preparation(check, media),
            inbox=self._inbox(at, "campaign"),
            clock=at.clock,
            deadline=deadline,
        )

    def _command(self, event: Mapping[str, Any], at: Environment, deadline: float) -> Any:
        return command(
            event,
            orders=Orders(at.database),
            campaigns=Campaigns(at.database),
            media=Media(at.database),
            resends=Resends(at.database),
            approval_above=None,
            topic=Topic(at.client, arn=TOPIC),
            parked=_nothing(),
            returns=_nothing(),
            audit=Audit(at.database),
            inbox=self._inbox(at, "command"),
            clock=at.clock,
            deadline=deadline,
        )

    def _send(self, event: Mapping[str, Any], at: Environment, deadline: float) -> Any:
        rate = CAP / SLOTS
        kept = at.kept
        kept.setdefault("claims", Claims(at.database, phone_number_id=NUMBER, lane="bulk"))
        kept.setdefault("api", SimulatedCloudApi(self.meta, at, NUMBER))
        kept.setdefault("pairs", Pairs())
        return send(
            event,
            phone_number_id=NUMBER,
            pace=SlotPace("bulk", SLOTS, rate, rate),
            entered_at=at.clock.monotonic(),
            deadline=deadline,
            claims=kept["claims"],
            campaigns=Campaigns(at.database),
            stops=Stops(at.database),
            cloud_api=kept["api"],
            parking=self._parking(at),
            telemetry=self.telemetry,
            pairs=kept["pairs"],
            clock=at.clock,
            dice=self.dice,
        )

    def _status(self, event: Mapping[str, Any], at: Environment, _deadline: float) -> Any:
        return status(
            event,
            statuses=Statuses(at.database),
            stops=Stops(at.database),
            parking=self._parking(at),
            telemetry=self.telemetry,
            clock=at.clock,
            dice=self.dice,
        )

    def _webhook(self, event: Mapping[str, Any], at: Environment, _deadline: float) -> Any:
        outbox = WebhookOutbox(
            statuses=Queue(at.client, url="statuses.fifo"),
            signals=Queue(at.client, url="signals"),
        )
        return webhook(
            event,
            secrets=lambda _fresh: ([APP_SECRET], "verify"),
            outbox=outbox,
            telemetry=self.telemetry,
        )

    def _dispatch(self, event: Mapping[str, Any], at: Environment, _deadline: float) -> None:
        numbers = [
            {
                "phone_number_id": NUMBER,
                "account_id": "1",
                "portfolio_id": "1",
                "send_rate": float(CAP),
                "lanes": {
                    "conversation": {"send_rate": CAP * 0.2, "messages_at_once": 2},
                    "bulk": {"send_rate": float(CAP), "messages_at_once": 8},
                },
                "state": "active",
            }
        ]
        dispatch(
            event,
            numbers=numbers,
            picks=Picks(at.database),
            topic=Topic(at.client, arn=TOPIC),
            telemetry=self.telemetry,
            clock=at.clock,
        )

    def _reconcile(self, event: Mapping[str, Any], at: Environment, deadline: float) -> None:
        reconcile(
            event,
            reconciliations=Reconciliations(at.database),
            statuses=Statuses(at.database),
            stages=Stages(at.database),
            silences=Silences(at.database),
            limits=Limits(at.database),
            frequency_cap=None,
            waker=_Waker(self),
            telemetry=self.telemetry,
            clock=at.clock,
            dice=self.dice,
            deadline=deadline,
        )

    def _redrive(self, event: Mapping[str, Any], at: Environment, _deadline: float) -> None:
        routes = [
            Route(
                name=name,
                queue=Queue(at.client, url=name),
                dead_letters=Queue(at.client, url=name + DEAD),
                messages_per_second=1.0,
                fifo=name.endswith(".fifo"),
                parking=self._parking(at),
            )
            for name in ("campaign", "command", SEND_QUEUE, "statuses.fifo")
        ]
        redrive(event, routes=routes, telemetry=self.telemetry, clock=at.clock, dice=self.dice)


class _Time:
    """The module ``time``, as far as the connection asks it."""

    def __init__(self, world: VirtualWorld) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.now

    def sleep(self, seconds: float) -> None:
        self._world.sleep(seconds)


class _Waker:
    def __init__(self, system: System) -> None:
        self._system = system

    def wake(self) -> None:
        function = self._system.functions["dispatch"]
        self._system.world.after(0.05, lambda: function.invoke_later({}))


class _Visible:
    """The queue that an inbox shows messages again in."""

    def __init__(self, client: Any, url: str) -> None:
        self._queue = Queue(client, url=url)

    def show_again(self, receipt_handle: str, *, in_seconds: int) -> None:
        self._queue.show_again(receipt_handle, in_seconds=in_seconds)


def _nothing() -> Any:
    """A port that this campaign never needs."""
    return None

"""What dashboards, alarms and saved questions read, functions really log and emit."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from functions.reconcile.handler import handle as reconcile
from functions.send.handler import handle as send
from functions.webhook.handler import handle as webhook
from infra.node import provide_node
from sluice.adapters.postgres.silences import Silences
from sluice.adapters.postgres.stages import Stages
from sluice.adapters.queues import WebhookOutbox
from sluice.domain.lanes import SlotPace
from sluice.domain.outcomes import Failed, Retry, Throttled, Unknown
from sluice.domain.pairs import Pairs
from sluice.metrics import METRICS
from tests.conftest import NUMBER
from tests.integration.functions import ports
from tests.integration.functions.test_approve import held  # noqa: F401 - a fixture
from tests.integration.functions.test_others import at_work, dispatched  # noqa: F401 - fixtures
from tests.integration.functions.test_redrive import die, redrive  # noqa: F401 - fixtures
from tests.integration.functions.test_schedule import due, group, put, schedule  # noqa: F401 - fixtures
from tests.integration.functions.test_signal import signal  # noqa: F401 - a fixture
from tests.integration.functions.test_status import sent, status  # noqa: F401 - a fixture
from tests.observed import Observed

provide_node()
from infra.observability.questions import (  # noqa: E402 - Node is found first
    ANY,
    SENDING,
    SHARED,
    Question,
)

RARE = {
    "CampaignsErased": "erase",
    "PeopleErased": "erase",
    "RowsErased": "erase",
    "Requeued": "dispatch",
    "at_limit.0": "dispatch",
    "campaign_ids.1": "send",
    "campaign_ids.2": "send",
    "stages_held.0": "reconcile",
}
"""Fields of what happens too seldom to be made to happen here: their handler names them."""
RARE_METRICS = {("reconcile", "NeedsPerson", ())}
"""Of a stage of which too many failed; its handler names it, beside ``stages_held``."""
WORDS = {
    "and", "as", "asc", "bin", "by", "count", "count_distinct", "desc", "fields", "filter", "in",
    "latest", "max", "or", "pct", "sort", "stats", "sum", "h", "m",
}  # fmt: skip
"""Of the language, not of the log."""


def read_by(question: Question) -> set[str]:
    """The fields that a query reads: not its words, its texts, its aliases, or CloudWatch's own."""
    query = re.sub(r'"[^"]*"', "", question.query)
    aliases = set(re.findall(r"\bas (\w+)", query))
    names = set(re.findall(r"(?<![\w.@])[A-Za-z_][\w.]*", query))
    return names - WORDS - aliases


@pytest.fixture
def observed(monkeypatch):
    """Every report of a handler goes through the real telemetry, too."""
    observed = Observed()
    for name in ("report", "warn", "fail"):
        kept = getattr(ports.Telemetry, name)

        def both(self, *given, kept=kept, name=name, **told):
            kept(self, *given, **told)
            getattr(observed, name)(*given, **told)

        monkeypatch.setattr(ports.Telemetry, name, both)
    return observed


class Answers(ports.CloudApi):
    """A Cloud API that gives one answer of each kind in turn."""

    def take(self, **timeout):
        answers = {
            1: Failed(131_026, "undeliverable"),
            2: Failed(4_711, "new", recognised=False),
            3: Retry(131_000, "again", 60.0, 1.0, 60.0),
            4: Unknown("read timeout"),
            5: Throttled(130_429, "too fast", 4.0),
        }
        return [
            (name, answers.get(name.key.seq % 6, outcome))
            for name, outcome in super().take(**timeout)
        ]


@pytest.fixture
def refused(observed, world, aws, clock, load_event):
    """A sender whose requests are refused in every way, and one whose database is away."""
    world.queue(world.campaign(30))
    for policy in ("leave", "resend"):
        # Claimed by senders that died.
        world.sending(3, name=policy, unknown_policy=policy)
    telemetry = ports.Telemetry()

    def run(event, claims):
        send(
            event,
            phone_number_id=NUMBER,
            pace=SlotPace("bulk", 2, 40.0, 40.0),
            entered_at=clock.monotonic(),
            deadline=clock.monotonic() + 60.0,
            claims=claims,
            campaigns=world.campaigns,
            stops=world.stops,
            cloud_api=Answers(clock),
            parking=aws.parking(),
            telemetry=telemetry,
            clock=clock,
            pairs=Pairs(),
            dice=lambda: 0.5,
        )

    def away(*_args, **_kwargs):
        raise ConnectionError("the database is away")

    run(load_event("send/chunks"), SimpleNamespace(claim=away))
    run(load_event("send/chunks"), world.claims)
    run(load_event("send/invalid_chunk"), world.claims)


@pytest.fixture
def reconciled(observed, refused, world, clock):
    """Senders that died, of a campaign that leaves what is unknown and of one that sends again."""
    for hours in (0, 1, 200):
        clock.advance(hours * 3_600.0)
        reconcile(
            {},
            reconciliations=world.reconciliations,
            statuses=world.statuses,
            stages=Stages(world.database),
            silences=Silences(world.database),
            limits=world.limits,
            frequency_cap=None,
            waker=ports.Waker(),
            telemetry=ports.Telemetry(),
            clock=clock,
            dice=lambda: 0.5,
            deadline=clock.monotonic() + 60.0,
        )


@pytest.fixture
def topped_up(observed, reconciled, world, dispatched):  # noqa: F811
    """A campaign that waits, queued; and rows whose chunks are lost."""
    world.campaign(60, name="waiting")
    dispatched.run()


@pytest.fixture
def asked(observed, world, aws, load_event, campaign, command, export, erase, approve):
    """Each step that people ask something of, with its samples."""
    steps = {"campaign": campaign, "command": command, "export": export, "erase": erase}
    for step, port in {**steps, "approve": approve}.items():
        for sample in ports.samples(step):
            if sample != "scheduled":
                port.run(load_event(f"{step}/{sample}"))
    erase.run()


@pytest.fixture
def told(observed, aws, load_event, signal, status):  # noqa: F811
    """What Meta brings, and what it could not have brought."""
    outbox = WebhookOutbox(statuses=aws.queue("statuses.fifo"), signals=aws.queue("signals"))
    for sample in ports.samples("webhook"):
        webhook(
            load_event(f"webhook/{sample}"),
            secrets=lambda _: (["current-app-secret"], "verify-me"),
            outbox=outbox,
            telemetry=signal.telemetry,
        )
    for sample in ports.samples("signal"):
        signal.run(load_event(f"signal/{sample}"))
    for sample in ports.samples("status"):
        status.run(load_event(f"status/{sample}"))
    invalid = [{"id": "wamid.A"}, {"id": "wamid.B"}]
    delivered = [
        sent(seq, opaque=f"1:{seq}:1", status=name, timestamp=f"177235560{at}")
        for seq in range(1, 31)
        for at, name in enumerate(("sent", "delivered"))
    ]
    status.run(ports.event_of({"statuses": [*invalid, *delivered]}))


@pytest.fixture
def kept(observed, aws, clock, load_event, redrive, schedule):  # noqa: F811
    """Dead letters of a queue that is there and of one that is not; starts too late."""
    die(aws, '{"kind": "send"}')
    die(aws, '{"kind": "send"}', queue="signals-dead", redrives="5")
    away = SimpleNamespace(name="gone", messages_per_second=1.0)
    redrive.run(redrive.route(), redrive.route("signals"), away)
    schedule.run(load_event("schedule/invalid_campaign"))
    schedule.run(put(missed_start={"policy": "skip", "tolerance_seconds": 600}))
    clock.advance(601)
    schedule.run(due())


@pytest.mark.usefixtures("refused", "reconciled", "topped_up", "kept", "told", "asked")
def test_every_field_and_every_metric_that_anything_reads_is_there(observed):
    for name, step in RARE.items():
        handler = Path(__file__).parents[3] / "functions" / step / "handler.py"
        assert name.partition(".")[0] in handler.read_text(encoding="utf-8")
    every = {step for step, _ in observed.printed}
    missing = {
        question.name: absent
        for question in (*SENDING, *SHARED)
        if (absent := read_by(question)
            - set(RARE)
            - observed.fields(every if ANY in question.steps else set(question.steps)))
    }  # fmt: skip
    emitted = {(step, name, names) for step, name, names in observed.emitted}
    silent = {
        (step, metric.name, tuple(by))
        for metric in METRICS.values()
        for step in metric.services
        for by in metric.by
        if (step, metric.name, frozenset({"service", *by})) not in emitted
    }

    assert (missing, silent) == ({}, RARE_METRICS)
    assert {name for _, name, _ in emitted} == set(METRICS)
    assert "request_id" in observed.fields({"send"})
    json.dumps(observed.printed)

"""The main job: a real campaign through the whole system, watched and then judged."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console

from local.judge import Judgement, judge
from local.scenarios import ACCOUNT, FIRST_NUMBER, Event, Scenario
from local.scratch import Scratch, sweep
from local.synthesis import ROOT
from local.system import FunctionFailedError, System, running_system
from local.view import live_view

AUDIENCES: Final = ROOT / "events" / "audiences"
REQUEST: Final = ROOT / "events" / "campaign" / "s3.json"
AWS_ENVIRONMENT: Final = ROOT / ".venv-ministack"
POLL_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 3.0
"""Statuses are all in when nothing was on its way for so long."""
STOPS_SECONDS_MAX: Final = 180.0


SUPPRESSED: Final = "SELECT count(*) FROM suppression WHERE NOT lifted"


class RunTimeoutError(RuntimeError):
    """The campaign did not end in time."""


def run(scenario: Scenario, console: Console) -> Judgement:
    """Start everything, publish the campaign, watch it to its end and hold it to the ledger."""
    sweep()
    scratch = Scratch.make()
    try:
        with (
            console.status("starting") as status,
            running_system(
                run_directory=scratch.path,
                aws_environment=AWS_ENVIRONMENT,
                simulation=scenario.simulation,
                say=lambda what: status.update(f"starting {what}"),
            ) as system,
        ):
            stop_before(system, scenario.audience.stopping)
            status.stop()
            campaign = publish(system, scenario)
            watch(system, campaign, scenario, console)
            return judge(system, campaign, scenario)
    finally:
        scratch.remove()


def stop_before(system: System, stopping: Sequence[str]) -> None:
    """Let people ask to stop, all in one webhook; return when all of them are suppressed."""
    if not stopping:
        return
    told = {"timestamp": str(int(time.time())), "type": "text", "text": {"body": "STOP"}}
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550783881", "phone_number_id": FIRST_NUMBER},
        "contacts": [{"profile": {"name": "Inés"}, "wa_id": wa_id} for wa_id in stopping],
        "messages": [{"from": wa_id, "id": f"wamid.STOP{wa_id}", **told} for wa_id in stopping],
    }
    system.api.tell("inbound", account_id=ACCOUNT, field="messages", value=value)
    deadline = time.monotonic() + STOPS_SECONDS_MAX
    database = system.database()
    while database.fetch(SUPPRESSED) != [(len(stopping),)]:
        if time.monotonic() > deadline:
            raise RunTimeoutError("not everybody who asked to stop is suppressed")
        time.sleep(POLL_SECONDS)
    database.close()


def publish(system: System, scenario: Scenario) -> str:
    """Upload the sample audience, publish the campaign to the topic, and return its id."""
    request = sample_request(campaign=f"vaccination-{scenario.name}")
    request["audience"] = {"s3": system.upload(AUDIENCES / scenario.audience.file)}
    request |= scenario.request
    system.publish(request, kind="campaign")
    return str(request["campaign"])


def sample_request(*, campaign: str) -> dict[str, Any]:
    """Return the sample campaign under another id, to be sent now."""
    event = json.loads(REQUEST.read_text(encoding="utf-8"))
    request: dict[str, Any] = json.loads(event["Records"][0]["body"])
    request["campaign"] = campaign
    for name in ("start_at", "expires_at"):
        request.pop(name, None)
    return request


def watch(system: System, campaign: str, scenario: Scenario, console: Console) -> None:
    """Show progress until the campaign is finished and every status has arrived."""
    deadline = time.monotonic() + scenario.seconds_max
    events = _Events(system, campaign, list(scenario.events))
    with live_view(system, console) as show:
        quiet_since: float | None = None
        while quiet_since is None or time.monotonic() - quiet_since < QUIET_SECONDS:
            if time.monotonic() > deadline:
                raise RunTimeoutError(f"{campaign} did not end in {scenario.seconds_max:.0f} s")
            events.bring_about()
            progress = Progress.of(system, campaign)
            show(progress.report)
            quiet_since = (quiet_since or time.monotonic()) if progress.over else None
            time.sleep(POLL_SECONDS)


@dataclass
class _Events:
    """What is still to happen, in order."""

    system: System
    campaign: str
    waiting: list[Event]
    began_at: float | None = None

    def bring_about(self) -> None:
        """Let happen what is due."""
        if self.began_at is None and self.system.api.ask("ledger")["requests"]:
            self.began_at = time.monotonic()
        while self.waiting and self.began_at is not None:
            if time.monotonic() < self.began_at + self.waiting[0].after_seconds:
                return
            event = self.waiting.pop(0)
            if event.crash:
                self.system.crash()
            if event.simulation:
                self.system.api.tell("config", **event.simulation)
            if event.command:
                order = {**event.command, "campaign": self.campaign}
                self.system.publish(order, kind="command")


@dataclass(frozen=True)
class Progress:
    """Where a campaign stands, and whether anything is still on its way."""

    report: Mapping[str, Any]
    statuses_pending: int

    @classmethod
    def of(cls, system: System, campaign: str) -> "Progress":
        """Ask the report function, and the simulated API and the queue what is to come."""
        pending = sum(system.api.ask("pending").values())
        try:
            report = system.report(campaign)
        except FunctionFailedError:  # nobody can tell while the database is away
            report = {}
        return cls(report, pending + system.waiting("statuses.fifo"))

    @property
    def over(self) -> bool:
        """Whether the campaign ended and every status was applied."""
        return self.report.get("state") == "finished" and not self.statuses_pending

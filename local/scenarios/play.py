"""What a story may do: publish, order, say, ask, wait. Only as users, people and Meta could."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from local.cloud_api import ledger
from local.scenarios.people import csv_of
from local.synthesis import ROOT
from local.system import FunctionFailedError, System

REQUEST: Final = ROOT / "events" / "campaign" / "s3.json"
ACCOUNT: Final = "102290129340398"
FIRST_NUMBER: Final = "106540352242922"
SECOND_NUMBER: Final = "106540352242923"
POLL_SECONDS: Final = 0.5
QUIET_SECONDS: Final = 3.0
"""Everything is in when nothing was on its way for so long."""
RING_SECONDS: Final = 10.0
WAITING: Final = ("pending", "queued", "sending", "unknown")

Found = TypeVar("Found")
Show = Callable[[Mapping[str, Any], str], None]


class RunTimeoutError(RuntimeError):
    """Something that a story waited for did not come."""


class Play:
    """The running system, as a story uses it."""

    def __init__(self, system: System, *, show: Show, seconds_max: float) -> None:
        """``show`` is told the report of the campaign that was published last."""
        self.system = system
        self._show = show
        self._deadline = time.monotonic() + seconds_max
        self._watched: str | None = None

    def campaign(self, campaign: str, audience: Mapping[str, Any], **changes: Any) -> str:
        """Publish the sample campaign with changes, and return its id."""
        request = {**sample_request(campaign=campaign), "audience": audience, **changes}
        self.publish(request)
        return campaign

    def publish(self, request: Mapping[str, Any], **attributes: str) -> None:
        """Publish a request of any kind to the topic; a campaign is shown from then on."""
        if request["kind"] == "campaign":
            self._watched = request["campaign"]
        self.system.publish(request, kind=request["kind"], **attributes)

    def order(self, action: str, *, by: str = "ada", **fields: Any) -> None:
        """Publish an order of a person."""
        self.publish({"kind": "command", "action": action, **fields}, by=by)

    def put(self, name: str, content: bytes) -> str:
        """Put a file into the audience bucket and return its ``s3://`` URI."""
        return self.system.put(name, content)

    def audience(self, name: str, people: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Put people into a file and return the audience that it is."""
        return {"s3": self.put(f"{name}.csv", csv_of(people))}

    def meta_says(self, field: str, value: Mapping[str, Any]) -> None:
        """Let Meta tell something by a webhook."""
        self.system.api.tell("inbound", account_id=ACCOUNT, field=field, value=value)

    def meta_does(self, **config: Any) -> None:
        """Change what the simulated Cloud API does."""
        self.system.api.tell("config", **config)

    def say(self, number: str, person: str, text: str = "", **message: Any) -> None:
        """Let a person (``+<digits>``) write to a number, or do there what ``message`` says."""
        told = {"message": message} if message else {"text": text}
        self.system.api.tell("inbound", phone_number_id=number, **{"from": person}, **told)

    def report(self, campaign: str) -> dict[str, Any]:
        """Return a campaign's report; empty while nobody can tell, or there is none."""
        try:
            report = self.system.report(campaign)
        except FunctionFailedError:
            return {}
        return report if "campaign_id" in report else {}

    def ask(self, **question: Any) -> dict[str, Any]:
        """Ask the report function anything else."""
        return dict(self.system.invoke("report", question) or {})

    def audit(self, *actions: str, **about: str) -> list[dict[str, Any]]:
        """Return who did what, the oldest first, of these actions only."""
        entries = self.ask(audit=about or "newest")["audit"]
        return [one for one in reversed(entries) if one["action"] in actions]

    def requests(self, campaign: str = "", *, accepted: bool = True) -> list[ledger.Request]:
        """Return what reached the Cloud API, of a campaign or of all, in order."""
        prefix = f"{self.report(campaign)['campaign_id']}:" if campaign else ""
        return [
            one
            for one in ledger.requests(self.system.api.ledger)
            if one.opaque_id.startswith(prefix) and (one.verdict in ledger.ACCEPTED or not accepted)
        ]

    def rows(self, query: str, *parameters: object) -> list[Any]:
        """Return what the database answers."""
        database = self.system.database()
        try:
            return database.fetch(query, parameters)
        finally:
            database.close()

    def until(self, what: str, condition: Callable[[], Found], *, seconds: float = 300.0) -> Found:
        """Wait until something is true and return it, showing progress meanwhile."""
        deadline = min(self._deadline, time.monotonic() + seconds)
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise RunTimeoutError(f"did not come in time: {what}")
            self._show(self.report(self._watched) if self._watched else {}, what)
            time.sleep(POLL_SECONDS)
        return found

    def pause(self, seconds: float) -> None:
        """Let time pass, showing progress."""
        ends_at = time.monotonic() + seconds
        self.until("time", lambda: time.monotonic() >= ends_at, seconds=seconds + 60)

    def ring(self, step: str) -> None:
        """Start a step of every minute now."""
        self.system.invoke(step, {})

    def over(self, *campaigns: str, seconds: float = 600.0) -> None:
        """Wait until campaigns are finished and every status has arrived."""
        quiet_since: float | None = None
        rung_at = 0.0

        def quiet() -> bool:
            nonlocal quiet_since, rung_at
            reports = [self.report(campaign) for campaign in campaigns]
            if all(map(_has_left, reports)) and time.monotonic() > rung_at + RING_SECONDS:
                rung_at = time.monotonic()
                self.ring("reconcile")
            ended = all(report.get("state") == "finished" for report in reports)
            if not ended or self.on_its_way():
                quiet_since = None
                return False
            quiet_since = quiet_since or time.monotonic()
            return time.monotonic() >= quiet_since + QUIET_SECONDS

        self.until(f"the end of {', '.join(campaigns)}", quiet, seconds=seconds)

    def on_its_way(self) -> int:
        """Return how many words of Meta or of people have not been dealt with."""
        pending = int(self.system.api.ask("pending")["pending"])
        return pending + self.system.waiting("statuses.fifo") + self.system.waiting("signals")


def sample_request(*, campaign: str) -> dict[str, Any]:
    """Return the sample campaign under another id, to be sent now."""
    event = json.loads(REQUEST.read_text(encoding="utf-8"))
    request: dict[str, Any] = json.loads(event["Records"][0]["body"])
    request["campaign"] = campaign
    for name in ("start_at", "expires_at"):
        request.pop(name, None)
    return request


def _has_left(report: Mapping[str, Any]) -> bool:
    """Whether nothing of a running campaign waits for anything but the next look."""
    states = report.get("states", {})
    return report.get("state") == "running" and not any(states.get(one) for one in WAITING)

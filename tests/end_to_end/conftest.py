"""The whole system, started once: functions, queues, Postgres, the simulated Cloud API."""

import hashlib
import hmac
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from requests import api as http

from local.cloud_api import ledger
from local.scenarios.play import sample_request
from local.synthesis import ROOT
from local.system import APP_SECRET, System, running_system
from sluice.adapters.postgres.connection import Database

AWS_ENVIRONMENT = Path(os.environ.get("SLUICE_MINISTACK", ROOT / ".venv-ministack"))
SIMULATION = {"latency_milliseconds_median": 120.0, "read_seconds_median": 0.5}
FIRST, SECOND = "106540352242922", "106540352242923"


@pytest.fixture(scope="session")
def system() -> Iterator[System]:
    with tempfile.TemporaryDirectory(prefix="sluice-end-to-end-") as directory:
        Path(directory).chmod(0o755)
        with running_system(
            run_directory=Path(directory),
            aws_environment=AWS_ENVIRONMENT,
            simulation=SIMULATION,
        ) as running:
            yield running


@pytest.fixture
def database(system: System) -> Iterator[Database]:
    database = system.database()
    yield database
    database.close()


def until(condition: Callable[[], Any], *, seconds: float, what: str) -> Any:
    """Wait for something to become true and return it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.25)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


class Campaign:
    """A campaign that a test publishes, and what became of it."""

    def __init__(self, system: System, name: str, people: Sequence[str], **changes: Any) -> None:
        self.system = system
        self.name = name
        self.people = people
        self.request = sample_request(campaign=name)
        parameters = {"name": "Ada", "clinic": "City Clinic", "date": "2026-12-07"}
        self.request["audience"] = {
            "recipients": [{"address": one, "parameters": parameters} for one in people]
        }
        self.request |= changes

    def publish(self) -> None:
        """Publish it to the topic."""
        self.system.publish(self.request, kind="campaign")

    def states(self) -> dict[str, int]:
        """States of its recipients, without the empty ones."""
        report = self.system.report(self.name)
        return {state: count for state, count in report.get("states", {}).items() if count}

    def await_states(self, expected: dict[str, int], *, seconds: float = 60.0) -> None:
        """Wait until exactly these states are reached."""
        until(
            lambda: self.states() == expected,
            seconds=seconds,
            what=f"{self.name} is {self.states()}, not {expected}",
        )

    def campaign_id(self) -> int:
        """Our own id of it."""
        return int(self.system.report(self.name)["campaign_id"])

    def accepted(self) -> dict[str, list[ledger.Request]]:
        """Requests that the Cloud API accepted, by campaign:seq."""
        prefix = f"{self.campaign_id()}:"
        found: dict[str, list[ledger.Request]] = {}
        for opaque_id, requests in ledger.accepted_by_opaque_id(self.system.api.ledger).items():
            if opaque_id.startswith(prefix):
                found.setdefault(opaque_id.rpartition(":")[0], []).extend(requests)
        return found


def post_webhook(system: System, body: bytes, *, signature: str | None = None) -> int:
    """Post to the deployed webhook, signed as Meta does or else as given; return the status."""
    digest = hmac.new(APP_SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "content-type": "application/json",
        "x-hub-signature-256": f"sha256={digest}" if signature is None else signature,
    }
    url = system.deployment.webhook_url
    return http.post(url, data=body, headers=headers, timeout=10).status_code


def people(first: int, count: int) -> list[str]:
    """Fictional numbers that no other test uses."""
    return [f"+4915155{number:06d}" for number in range(first, first + count)]

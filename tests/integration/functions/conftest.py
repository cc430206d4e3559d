"""campaign.handle with its ports, for the tests of commands and of loads."""

from types import SimpleNamespace

import pytest

from functions.campaign.handler import handle
from sluice.adapters.audience import Audiences
from tests.conftest import EVENTS
from tests.integration.functions.ports import Telemetry, Waker


@pytest.fixture(scope="session")
def csv():
    """The sample audience."""
    return (EVENTS / "audiences" / "vaccination.csv").read_bytes()


@pytest.fixture
def campaign(world, aws, clock, csv):
    """``run(event)`` handles messages that were really received."""
    aws.put("s3://audiences/vaccination.csv", csv)
    aws.put("s3://audiences/sample", (EVENTS / "audiences" / "sample.ndjson").read_bytes())
    telemetry, waker = Telemetry(), Waker()

    def run(event, *, receives=1, seconds=900.0, audiences=None):
        return handle(
            aws.receive("campaign", event, receives=receives),
            campaigns=world.campaigns,
            loads=world.loads,
            audiences=audiences or Audiences(aws.client("s3")),
            stops=world.stops,
            queue=aws.queue("campaign"),
            parking=aws.parking(),
            waker=waker,
            telemetry=telemetry,
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry, waker=waker)

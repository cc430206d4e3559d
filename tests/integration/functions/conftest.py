"""campaign.handle, command.handle and export.handle with their ports."""

from types import SimpleNamespace

import pytest

from functions.campaign.handler import handle
from functions.command.handler import handle as handle_command
from functions.export.handler import handle as handle_export
from sluice.adapters.audience import Audiences
from sluice.adapters.events import Inbox
from sluice.adapters.parquet import Parquet
from sluice.adapters.postgres.exports import Exports
from sluice.adapters.storage import Storage
from sluice.adapters.uploads import Uploads
from sluice.adapters.workplace import workplace
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
    stopped = EVENTS / "audiences" / "stopped.csv"
    aws.put("s3://audiences/stopped.csv", stopped.read_bytes())
    aws.put("s3://audiences/sample", (EVENTS / "audiences" / "sample.ndjson").read_bytes())
    telemetry, waker = Telemetry(), Waker()

    def run(event, *, receives=1, seconds=900.0, audiences=None):
        return handle(
            aws.receive("campaign", event, receives=receives),
            campaigns=world.campaigns,
            loads=world.loads,
            audiences=audiences or Audiences(aws.client("s3")),
            stops=world.stops,
            lists=world.suppression_lists,
            suppressions=world.suppressions,
            uploads=Uploads(aws.client("s3")),
            inbox=Inbox("campaign", aws.queue("campaign"), aws.parking(), waker, telemetry),
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry, waker=waker)


@pytest.fixture
def command(world, aws):
    """``run(event)`` handles messages that were really received."""
    telemetry, waker = Telemetry(), Waker()

    def run(event, *, receives=1):
        return handle_command(
            aws.receive("command", event, receives=receives),
            stops=world.stops,
            inbox=Inbox("command", aws.queue("command"), aws.parking(), waker, telemetry),
        )

    return SimpleNamespace(run=run, telemetry=telemetry, waker=waker)


@pytest.fixture
def export(world, aws, clock):
    """``run(event)`` handles messages that were really received."""
    client, telemetry = aws.client("s3"), Telemetry()
    client.create_bucket(Bucket="exports")

    def run(event, *, receives=1, seconds=3600.0, storage=None, place=workplace):
        return handle_export(
            aws.receive("export", event, receives=receives),
            bucket="exports",
            exports=Exports(world.database),
            storage=storage or Storage(client),
            parquet=Parquet(),
            workplace=place,
            inbox=Inbox("export", aws.queue("export"), aws.parking(), None, telemetry),
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry)

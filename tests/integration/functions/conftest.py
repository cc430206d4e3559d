"""The handlers of campaign, command, approve, export and erase with their ports."""

from types import SimpleNamespace
from typing import Any

import pytest
from requests.adapters import HTTPAdapter

from functions.approve.handler import handle as handle_approve
from functions.campaign.handler import handle
from functions.command.handler import handle as handle_command
from functions.erase.handler import handle as handle_erase
from functions.export.handler import handle as handle_export
from sluice.adapters.audience import Audiences
from sluice.adapters.events import Inbox
from sluice.adapters.graph_api import GraphApi
from sluice.adapters.media import MediaFiles
from sluice.adapters.parked import Returns
from sluice.adapters.parquet import Parquet
from sluice.adapters.postgres.approvals import Approvals
from sluice.adapters.postgres.exports import Exports
from sluice.adapters.queues import Topic
from sluice.adapters.storage import Storage
from sluice.adapters.uploads import Uploads
from sluice.adapters.workplace import workplace
from sluice.steps.campaign.check import TemplateCheck
from sluice.steps.campaign.media import HeaderMedia
from sluice.steps.campaign.start import Preparation
from tests.conftest import EVENTS, NUMBER, OTHER_NUMBER
from tests.integration.functions.ports import Telemetry, Waker


@pytest.fixture(scope="session")
def csv():
    """The sample audience."""
    return (EVENTS / "audiences" / "vaccination.csv").read_bytes()


ACCOUNTS = {NUMBER: "102290129340398", OTHER_NUMBER: "102290129340398"}


class Unpatched(HTTPAdapter):
    """Sends as ever.

    What simulates AWS in this process looks into each request, and would use up a stream.
    """

    send = HTTPAdapter.send


@pytest.fixture
def graph_api(graph):
    """A client of the simulated Graph API."""
    api = GraphApi(url=f"{graph.url}/v25.0", token=lambda **_: "local-access-token")
    api._session.mount("http://", Unpatched())
    return api


@pytest.fixture
def campaign(world, aws, clock, csv, graph_api):
    """``run(event)`` handles messages that were really received."""
    aws.put("s3://audiences/vaccination.csv", csv)
    stopped = EVENTS / "audiences" / "stopped.csv"
    aws.put("s3://audiences/stopped.csv", stopped.read_bytes())
    aws.put("s3://audiences/sample", (EVENTS / "audiences" / "sample.ndjson").read_bytes())
    aws.put("s3://audiences/clinic.png", b"\x89PNG and so on")
    telemetry, waker = Telemetry(), Waker()

    def run(
        event,
        *,
        receives=1,
        seconds=900.0,
        audiences=None,
        check="required",
        accounts=ACCOUNTS,
        graph_api=graph_api,
        **ports: Any,
    ):
        checks = TemplateCheck(check, lambda: accounts, world.templates, graph_api, clock)
        files = ports.get("files") or MediaFiles(aws.client("s3"))
        uploads = ports.get("uploads") or world.media
        return handle(
            aws.receive("campaign", event, receives=receives),
            campaigns=world.campaigns,
            loads=world.loads,
            audiences=audiences or Audiences(aws.client("s3")),
            saved=world.saved,
            stops=world.stops,
            lists=world.suppression_lists,
            suppressions=world.suppressions,
            uploads=Uploads(aws.client("s3")),
            preparation=Preparation(checks, HeaderMedia(files, uploads, graph_api, clock)),
            inbox=Inbox(
                "campaign", aws.queue("campaign"), aws.parking(), waker, telemetry, world.audit
            ),
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry, waker=waker)


@pytest.fixture
def requests_topic(aws):
    """The topic, to which the queue ``published`` listens as all queues of steps together."""
    sns = aws.client("sns")
    arn = sns.create_topic(Name="campaign-requests")["TopicArn"]
    queue = aws.sqs.get_queue_attributes(QueueUrl=aws.url("published"), AttributeNames=["QueueArn"])
    sns.subscribe(
        TopicArn=arn,
        Protocol="sqs",
        Endpoint=queue["Attributes"]["QueueArn"],
        Attributes={"RawMessageDelivery": "true"},
    )
    return Topic(sns, arn=arn)


@pytest.fixture
def command(world, aws, clock, requests_topic):
    """``run(event)`` handles messages that were really received."""
    telemetry, waker = Telemetry(), Waker()
    returns = Returns(
        topic=requests_topic, statuses=aws.queue("statuses.fifo"), signals=aws.queue("signals")
    )

    def run(event, *, receives=1, seconds=60.0, parked=None, approval_above=None):
        return handle_command(
            aws.receive("command", event, receives=receives),
            orders=world.orders,
            audit=world.audit,
            campaigns=world.campaigns,
            media=world.media,
            resends=world.resends,
            approval_above=approval_above,
            topic=requests_topic,
            parked=parked or aws.parked_messages(),
            returns=returns,
            inbox=Inbox(
                "command", aws.queue("command"), aws.parking(), waker, telemetry, world.audit
            ),
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry, waker=waker)


@pytest.fixture
def approve(world, aws, clock):
    """``run(event)`` handles messages that were really received."""
    telemetry, waker = Telemetry(), Waker()

    def run(event, *, receives=1):
        return handle_approve(
            aws.receive("approvals", event, receives=receives),
            approvals=Approvals(world.database),
            inbox=Inbox(
                "approve", aws.queue("approvals"), aws.parking(), waker, telemetry, world.audit
            ),
            clock=clock,
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
            inbox=Inbox("export", aws.queue("export"), aws.parking(), None, telemetry, world.audit),
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry)


@pytest.fixture
def erase(world, aws, clock):
    """``run(event)`` handles messages that were really received; without one, the clock's event."""
    telemetry = Telemetry()

    def run(event=None, *, receives=1, seconds=900.0, days=400, **ports: Any):
        return handle_erase(
            aws.receive("erase", event, receives=receives) if event else {"source": "aws.events"},
            erasures=ports.get("erasures") or world.erasures,
            holdings=ports.get("holdings") or world.holdings,
            retention=world.retention,
            retention_days=days,
            inbox=Inbox("erase", aws.queue("erase"), aws.parking(), None, telemetry, world.audit),
            telemetry=telemetry,
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry)

"""The real telemetry: one JSON line, metrics in the embedded format, and nobody's number."""

import io
import json
from itertools import count

import pytest
from aws_lambda_powertools import Logger, Metrics

from functions.campaign.handler import handle as campaign
from functions.webhook.handler import handle as webhook
from sluice.adapters.audience import Audiences
from sluice.adapters.events import Inbox
from sluice.adapters.media import MediaFiles
from sluice.adapters.queues import WebhookOutbox
from sluice.adapters.telemetry import Telemetry
from sluice.adapters.uploads import Uploads
from sluice.steps.campaign.check import TemplateCheck
from sluice.steps.campaign.media import HeaderMedia
from sluice.steps.campaign.start import Preparation
from tests.conftest import NUMBER
from tests.integration.functions.conftest import ACCOUNTS
from tests.integration.functions.ports import Audit, Waker, samples

DIMENSIONS_ALLOWED = {"service", "phone_number_id", "lane"}
_services = count()


@pytest.fixture
def log():
    return io.StringIO()


@pytest.fixture
def telemetry(log):
    # Another name each time: Python keeps loggers, and what they write to, by name.
    service = f"send{next(_services)}"
    logger = Logger(service=service, stream=log, level="INFO")
    return Telemetry(logger, Metrics(namespace="Sluice", service=service))


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def metrics_of(text):
    """Every metric that was printed: its name and its dimensions."""
    return [
        (metric["Name"], set(names))
        for line in lines(text)
        for directive in line["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]
        for metric in directive["Metrics"]
    ]


def test_a_report_is_one_json_line_and_its_metrics(telemetry, log, capsys):
    telemetry.report(
        "sent",
        counts={"Sends": 3, "Failed": 0, "Claimed": 4},
        seconds={"PacedTime": 1.5},
        samples={"ApiLatency": [20.0, 10.0, 30.0], "ClaimTime": []},
        dimensions={"phone_number_id": NUMBER, "lane": "bulk"},
        codes={"131026": 1},
    )

    (line,) = lines(log.getvalue())
    assert line["message"] == "sent"
    assert line["service"].startswith("send")
    assert line["phone_number_id"] == NUMBER
    assert line["codes"] == {"131026": 1}
    assert (line["Sends"], line["Claimed"], line["PacedTime"]) == (3, 4, 1.5)
    assert line["ApiLatency"] == {"p50": 20.0, "p95": 30.0, "max": 30.0, "n": 3}
    assert metrics_of(capsys.readouterr().out) == [
        ("Sends", {"service"}),
        ("Sends", {"service", "phone_number_id", "lane"}),
        ("PacedTime", {"service", "phone_number_id", "lane"}),
        ("ApiLatency", {"service", "phone_number_id"}),
    ]


def test_every_sample_is_emitted_a_hundred_in_a_line(telemetry, capsys):
    values = [float(place) for place in range(250)]

    telemetry.report(
        "sent",
        samples={"ApiLatency": values},
        dimensions={"phone_number_id": NUMBER, "lane": "bulk"},
    )

    printed = [line["ApiLatency"] for line in lines(capsys.readouterr().out)]
    assert [len(several) for several in printed] == [100, 100, 50]
    assert [value for several in printed for value in several] == values


def test_what_there_is_none_of_is_told_where_it_is_a_gauge(telemetry, log, capsys):
    telemetry.report("reconciled", counts={"RowsPending": 0, "RowsStuck": 0})

    assert metrics_of(capsys.readouterr().out) == [("RowsPending", {"service"})]
    (line,) = lines(log.getvalue())
    assert line["RowsPending"] == 0
    assert "RowsStuck" not in line


def test_dimensions_of_one_report_are_not_those_of_the_next(telemetry, capsys):
    dimensions = {"phone_number_id": NUMBER, "lane": "bulk"}
    telemetry.report("sent", counts={}, dimensions=dimensions)
    telemetry.report("sent", samples={"ApiLatency": [1.0]}, dimensions=dimensions)
    telemetry.report("parked", counts={"Parked": 1})

    assert metrics_of(capsys.readouterr().out) == [
        ("ApiLatency", {"service", "phone_number_id"}),
        ("Parked", {"service"}),
    ]


def test_a_report_without_counts_prints_no_metric(telemetry, capsys):
    telemetry.report("statuses applied", counts={"Parked": 0})

    assert capsys.readouterr().out == ""


def test_a_failure_is_logged_with_its_traceback(telemetry, log):
    telemetry.fail("ended early", ValueError("the cause"), unfinished=3)
    telemetry.warn("a person may look", number=NUMBER)

    failure, warning = lines(log.getvalue())
    assert (failure["level"], failure["exception_name"]) == ("ERROR", "ValueError")
    assert (warning["level"], warning["number"]) == ("WARNING", NUMBER)


@pytest.fixture
def every_step_ran(telemetry, world, aws, clock, load_event, graph_api):
    """The samples that hold addresses went through the steps that read them."""
    outbox = WebhookOutbox(statuses=aws.queue("statuses.fifo"), signals=aws.queue("signals"))
    for sample in samples("webhook"):
        webhook(
            load_event(f"webhook/{sample}"),
            secrets=lambda _: (["current-app-secret"], "verify-me"),
            outbox=outbox,
            telemetry=telemetry,
        )
    for name in ("stopped", "vaccination"):
        aws.put(f"s3://audiences/{name}.csv", b"address\n+12025550101\n12025550101\n")
    check = TemplateCheck("required", lambda: ACCOUNTS, world.templates, graph_api, clock)
    media = HeaderMedia(MediaFiles(aws.client("s3")), world.media, graph_api, clock)
    preparation = Preparation(check, media)
    for sample in (
        "inline",
        "conflict",
        "invalid_fields",
        "invalid_json",
        "suppress",
        "suppress_file",
        "save_audience",
    ):
        campaign(
            load_event(f"campaign/{sample}"),
            campaigns=world.campaigns,
            loads=world.loads,
            audiences=Audiences(aws.client("s3")),
            saved=world.saved,
            stops=world.stops,
            lists=world.suppression_lists,
            suppressions=world.suppressions,
            uploads=Uploads(aws.client("s3")),
            inbox=Inbox(
                "campaign", aws.queue("campaign"), aws.parking(), Waker(), telemetry, Audit()
            ),
            preparation=preparation,
            clock=clock,
            deadline=clock.monotonic() + 900,
        )


@pytest.mark.usefixtures("every_step_ran")
def test_no_step_logs_a_phone_number_or_another_dimension(log, capsys):
    printed = capsys.readouterr().out

    assert len(lines(log.getvalue())) > len(samples("webhook"))
    assert {name for _, names in metrics_of(printed) for name in names} <= DIMENSIONS_ALLOWED
    for number in ("2025550101", "447700900102", "13491208655302741918"):
        assert number not in log.getvalue() + printed

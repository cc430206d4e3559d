"""The local stage, really deployed, with handlers that only write down what reaches them."""

import io
import json
import os
import shutil
import time
import urllib.request
import uuid
import zipfile
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.hold import hold, release
from cli.rollback import NotRolledBack, RolledBack, rollback
from local.aws import LocalAws, start_local_aws
from local.deploy import Deployment, deploy, put_secrets
from local.postgres import Postgres, start_postgres
from local.processes import Processes
from local.synthesis import SOURCES, synthesise
from sluice.adapters.scheduler import Scheduler
from sluice.domain.lanes import LANES
from sluice.domain.models.schedule import SchedulePut
from sluice.domain.notification import published_of
from sluice.domain.schedules import AT_FORMAT
from sluice.settings import FUNCTION_VARIABLES

ROOT = Path(__file__).parents[2]
MINISTACK = Path(os.environ.get("SLUICE_MINISTACK", ROOT / ".venv-ministack"))
SECONDS_MAX = 20.0
FIRST = "106540352242922"
SECOND = "106540352242923"
HANDLER = """
import json, os, uuid
import psycopg, sluice

def lambda_handler(event, context):
    name = f"{os.environ['POWERTOOLS_SERVICE_NAME']}-{uuid.uuid4()}"
    with open(f"DIRECTORY/.{name}", "w") as file:
        json.dump({"function": context.function_name, "event": event,
                   "environment": dict(os.environ)}, file)
    os.rename(f"DIRECTORY/.{name}", f"DIRECTORY/{name}")
    return {"batchItemFailures": [], "statusCode": 200, "body": "heard"}
"""
OWN_IMPORTS = {"export": "import duckdb\n"}
"""Of layers that only one step has."""

pytestmark = pytest.mark.skipif(not MINISTACK.is_dir(), reason="ministack is not installed")


@dataclass(frozen=True)
class System:
    aws: LocalAws
    postgres: Postgres
    deployment: Deployment
    heard: Path

    def publish(self, body: Any, **attributes: str) -> None:
        self.aws.client("sns").publish(
            TopicArn=self.deployment.topic_arn,
            Message=json.dumps(body),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
            },
        )

    def hearing(self, mark: str, *, seconds: float = SECONDS_MAX) -> dict[str, Any]:
        """What the first function heard that contains this mark."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for file in self.heard.glob("[!.]*"):
                if mark in (text := file.read_text(encoding="utf-8")):
                    return dict(json.loads(text))
            time.sleep(0.05)
        pytest.fail(f"nobody heard {mark}")

    def kept(self, queue: str, mark: str) -> bool:
        """Whether this queue, which no function reads, receives a message with this mark."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            answer = self.aws.client("sqs").receive_message(
                QueueUrl=self.deployment.queue_urls[queue], WaitTimeSeconds=1
            )
            if any(mark in message["Body"] for message in answer.get("Messages", [])):
                return True
        return False


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    run = tmp_path_factory.mktemp("run")
    for parent in (run, run.parent, run.parent.parent):
        parent.chmod(0o755)
    heard = tmp_path_factory.mktemp("heard")
    root = _copy_with_recorders(tmp_path_factory.mktemp("root"), heard)
    with Processes(run) as processes:
        postgres = start_postgres(processes, run_directory=run)
        aws = start_local_aws(processes, run_directory=run, environment=MINISTACK)
        assembly = synthesise(
            output_directory=run / "cdk.out",
            cloud_api_url="http://127.0.0.1:1/v25.0",
            database_url=postgres.url,
            root=root,
        )
        yield System(aws, postgres, deploy(aws, assembly), heard)


def _copy_with_recorders(root: Path, heard: Path) -> Path:
    for source in SOURCES:
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, root / source)
    (ROOT / "build").mkdir(exist_ok=True)
    (root / "build").symlink_to(ROOT / "build")
    for step in FUNCTION_VARIABLES:
        shutil.rmtree(root / "functions" / step)
        (root / "functions" / step).mkdir()
        (root / "functions" / step / "handler.py").write_text(
            OWN_IMPORTS.get(step, "") + HANDLER.replace("DIRECTORY", str(heard)), encoding="utf-8"
        )
    return root


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("campaign", "campaign"),
        ("suppressions", "campaign"),
        ("command", "command"),
        ("export", "export"),
        ("schedule", "schedule"),
        ("erase", "erase"),
    ],
)
def test_what_is_published_reaches_the_function_of_its_kind(
    system: System, mark: str, kind: str, step: str
) -> None:
    system.publish({"mark": mark}, kind=kind)
    hearing = system.hearing(mark)
    assert hearing["function"] == system.deployment.functions[step]
    published = published_of(hearing["event"]["Records"][0]["body"], {})
    assert json.loads(published.body) == {"mark": mark}
    assert published.attributes == {"kind": kind}
    assert published.message_id


def test_a_decision_reaches_the_function_of_approvals_with_its_sender(
    system: System, mark: str
) -> None:
    url = system.deployment.queue_urls["approvals"]
    system.aws.client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps({"mark": mark}))
    hearing = system.hearing(mark)
    assert hearing["function"] == system.deployment.functions["approve"]
    assert hearing["event"]["Records"][0]["attributes"]["SenderId"]


def test_scheduler_tells_its_function_when_it_is_due(system: System, mark: str) -> None:
    function = system.deployment.functions["schedule"]
    functions = system.aws.client("lambda")
    told = functions.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
    scheduler = Scheduler(
        system.aws.client("scheduler"),
        group=told["SCHEDULE_GROUP"],
        queue_arn=told["SCHEDULE_QUEUE_ARN"],
        undelivered_arn=told["SCHEDULE_UNDELIVERED_ARN"],
        role_arn=told["SCHEDULE_ROLE_ARN"],
    )
    sample = json.loads((ROOT / "events" / "schedule" / "at.json").read_text(encoding="utf-8"))
    now = datetime.fromtimestamp(time.time(), UTC)
    put = json.loads(sample["Records"][0]["body"]) | {
        "id": mark,
        "expression": f"at({now + timedelta(seconds=2):{AT_FORMAT}})",
    }
    schedule = SchedulePut.model_validate_json(json.dumps(put))

    assert scheduler.put(schedule, enabled=True, now=now) is None

    hearing = system.hearing(mark, seconds=45)
    (record,) = hearing["event"]["Records"]
    assert hearing["function"] == function
    assert json.loads(record["body"])["action"] == "start"
    assert record["messageAttributes"] == {}, "Scheduler gives a message none"
    scheduler.delete(mark)
    scheduler.delete(mark)


def test_subscribers_can_listen_to_what_people_say(system: System, mark: str) -> None:
    topics, queues = system.aws.client("sns"), system.aws.client("sqs")
    url = queues.create_queue(QueueName="listener")["QueueUrl"]
    arn = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    topics.subscribe(
        TopicArn=system.deployment.inbound_topic_arn,
        Protocol="sqs",
        Endpoint=arn["QueueArn"],
        Attributes={
            "RawMessageDelivery": "true",
            "FilterPolicy": json.dumps({"campaign": ["reminder"]}),
        },
    )
    for campaign, body in (("another", "not for us"), ("reminder", mark)):
        topics.publish(
            TopicArn=system.deployment.inbound_topic_arn,
            Message=body,
            MessageAttributes={"campaign": {"DataType": "String", "StringValue": campaign}},
        )
    (message,) = queues.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]
    assert message["Body"] == mark


@pytest.mark.parametrize("lane", ["bulk", "conversation"])
@pytest.mark.parametrize("phone_number_id", [FIRST, SECOND])
def test_a_send_reaches_the_sender_of_its_lane(
    system: System, mark: str, phone_number_id: str, lane: str
) -> None:
    system.publish({"mark": mark}, kind="send", phone_number_id=phone_number_id, lane=lane)
    hearing = system.hearing(mark)
    assert hearing["environment"]["PHONE_NUMBER_ID"] == phone_number_id
    assert hearing["function"] == system.deployment.functions[f"send-{phone_number_id}-{lane}"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"kind": "send", "phone_number_id": "999999999999", "lane": "bulk"},
        {"kind": "send", "lane": "bulk"},
        {"kind": "send", "phone_number_id": FIRST, "lane": "express"},
        {"kind": "send", "phone_number_id": FIRST},
        {"kind": "sned", "phone_number_id": FIRST, "lane": "bulk"},
        {"phone_number_id": FIRST, "lane": "bulk"},
    ],
    ids=lambda attributes: "-".join(attributes.values()),
)
def test_what_matches_no_filter_is_kept_as_unrouted(
    system: System, mark: str, attributes: dict[str, str]
) -> None:
    system.publish({"mark": mark}, **attributes)
    assert system.kept("unrouted", mark)


def test_statuses_and_signals_reach_their_functions(system: System, mark: str) -> None:
    queues, urls = system.aws.client("sqs"), system.deployment.queue_urls
    queues.send_message(
        QueueUrl=urls["statuses.fifo"],
        MessageBody=f"status {mark}",
        MessageGroupId="7",
        MessageDeduplicationId=mark,
    )
    queues.send_message(QueueUrl=urls["signals"], MessageBody=f"signal {mark}")
    assert system.hearing(f"status {mark}")["function"] == system.deployment.functions["status"]
    assert system.hearing(f"signal {mark}")["function"] == system.deployment.functions["signal"]


def test_a_webhook_reaches_its_function_over_http(system: System, mark: str) -> None:
    request = urllib.request.Request(  # noqa: S310 - our own server
        system.deployment.webhook_url,
        data=json.dumps({"mark": mark}).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:  # noqa: S310
        assert answer.read() == b"heard"
    event = system.hearing(mark)["event"]
    assert event["version"] == "2.0"
    assert event["requestContext"]["http"]["method"] == "POST"


def test_a_function_finds_its_layers_and_exactly_its_variables(system: System, mark: str) -> None:
    system.aws.client("lambda").invoke(
        FunctionName=system.deployment.functions["dispatch"],
        InvocationType="Event",
        Payload=json.dumps({"mark": mark}),
    )
    environment = system.hearing(mark)["environment"]
    every = {name for names in FUNCTION_VARIABLES.values() for name in names}
    assert every & environment.keys() == set(FUNCTION_VARIABLES["dispatch"])
    assert environment["DATABASE_URL"] == system.postgres.url


def test_numbers_and_routes_are_described_by_parameters(system: System) -> None:
    parameters = system.aws.client("ssm")

    def under(path: str) -> dict[str, Any]:
        pages = parameters.get_paginator("get_parameters_by_path").paginate(Path=path)
        found = [item for page in pages for item in page["Parameters"]]
        return {item["Name"].rpartition("/")[2]: json.loads(item["Value"]) for item in found}

    assert under("/sluice/local/numbers")[FIRST] == {
        "phone_number_id": FIRST,
        "account_id": "102290129340398",
        "portfolio_id": "506914307656634",
        "daily_limit": None,
        "messages_per_second": 80,
        "send_rate": 76.0,
        "lanes": {
            "conversation": {"send_rate": 15.2, "messages_at_once": 12},
            "bulk": {"send_rate": 76.0, "messages_at_once": 16},
        },
        "state": "active",
    }
    routes = dict(ChainMap(*under("/sluice/local/routes").values()))
    assert set(routes) == {
        "campaign",
        "command",
        "erase",
        "export",
        "schedule",
        "statuses",
        "signals",
        *(f"send-{number}-{lane}" for number in (FIRST, SECOND) for lane in LANES),
    }
    assert routes["statuses"]["fifo"] is True
    assert (
        routes[f"send-{FIRST}-bulk"]["dead_letter_queue_url"]
        == system.deployment.queue_urls[f"send-{FIRST}-bulk-dead"]
    )


def test_a_sender_runs_no_more_often_than_it_has_slots(system: System) -> None:
    concurrency = system.aws.client("lambda").get_function_concurrency(
        FunctionName=system.deployment.functions[f"send-{FIRST}-bulk"]
    )
    assert concurrency["ReservedConcurrentExecutions"] == 2


def test_secrets_hold_what_an_operator_puts(system: System) -> None:
    put_secrets(
        system.aws,
        system.deployment,
        access_token="token",
        app_secrets=("new", "old"),
        verify_token="verify",
    )
    secrets = system.aws.client("secretsmanager")
    value = secrets.get_secret_value(SecretId=system.deployment.webhook_secret_id)["SecretString"]
    assert json.loads(value) == {"app_secrets": ["new", "old"], "verify_token": "verify"}


def test_the_same_templates_can_be_deployed_again(system: System) -> None:
    assembly = Path(system.postgres.process.log).parents[1] / "cdk.out"
    assert deploy(system.aws, assembly) == system.deployment


@pytest.mark.parametrize("step", ["dispatch", "redrive", "reconcile"])
def test_scheduled_steps_run_every_minute(system: System, step: str) -> None:
    rule = f"SluiceShared-local-{step.capitalize()}EveryMinute"
    hearing = system.hearing(rule, seconds=75)
    assert hearing["function"] == system.deployment.functions[step]


def test_everything_works_by_its_alias_and_a_bad_deployment_is_rolled_back(
    system: System, mark: str
) -> None:
    functions = system.aws.client("lambda")
    name = system.deployment.functions["export"]
    mappings = functions.list_event_source_mappings()["EventSourceMappings"]
    ours = [one["FunctionArn"] for one in mappings if ":sluice-local-" in one["FunctionArn"]]
    assert len(ours) >= 11
    assert [arn for arn in ours if not arn.endswith(":live")] == []
    system.publish({"mark": f"{mark} before"}, kind="export")
    assert system.hearing(f"{mark} before")["function"] == name
    bad = io.BytesIO()
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("handler.py", "def lambda_handler(event, context): raise ValueError")

    # As a deployment does: new code, a version of it, and the alias on that.
    functions.update_function_code(FunctionName=name, ZipFile=bad.getvalue())
    version = functions.publish_version(FunctionName=name)["Version"]
    functions.update_alias(FunctionName=name, Name="live", FunctionVersion=version)
    system.publish({"mark": f"{mark} bad"}, kind="export")
    time.sleep(3.0)
    (back,) = rollback("local", client=system.aws.client, function="export")

    assert isinstance(back, RolledBack)
    assert (back.function, back.was) == (name, int(version))
    system.publish({"mark": f"{mark} after"}, kind="export")
    assert system.hearing(f"{mark} after")["function"] == name
    (again,) = rollback("local", client=system.aws.client, function="export")
    assert again == NotRolledBack(name, f"version {back.now} is behind the latest already")
    (first,) = rollback("local", client=system.aws.client, function="export", further=True)
    assert first == NotRolledBack(name, f"version {back.now} is the first that is kept")


def test_a_rollback_of_a_number_is_of_its_lanes_and_of_nothing_that_has_no_alias(
    system: System,
) -> None:
    lanes = rollback("local", client=system.aws.client, function=f"send-{FIRST}")
    assert {one.function for one in lanes} == {f"sluice-local-send-{FIRST}-{x}" for x in LANES}
    assert all(isinstance(one, NotRolledBack) for one in lanes), "nothing was deployed before"
    assert rollback("local", client=system.aws.client, function="migrate") == []


def test_a_held_stage_keeps_what_is_published_until_it_is_released(
    system: System, mark: str
) -> None:
    held = hold("local", client=system.aws.client)
    system.publish({"mark": mark}, kind="command")
    time.sleep(4.0)
    unheard = not any(mark in file.read_text("utf-8") for file in system.heard.glob("[!.]*"))

    released = release("local", client=system.aws.client)

    assert held == released
    assert {f"sluice-local-send-{FIRST}-{lane}" for lane in LANES} <= set(held.event_sources)
    assert {"sluice-local-dispatch", "sluice-local-reconcile"} <= set(held.rules)
    assert unheard
    assert system.hearing(mark)["function"] == system.deployment.functions["command"]

"""Everything at once: Postgres, the simulated Cloud API, the local AWS with our stacks in it."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests

from local.aws import LocalAws, start_local_aws
from local.deploy import Deployment, deploy, put_secrets
from local.postgres import Postgres, start_postgres
from local.processes import Process, Processes, clean_environment, free_port
from local.synthesis import stage_of, synthesise
from sluice.adapters.postgres.access import parameters_of
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.migrate import migrate

ACCESS_TOKEN: Final = "local-access-token"  # noqa: S105 - of the simulated API only
APP_SECRET: Final = "local-app-secret"  # noqa: S105 - as above
VERIFY_TOKEN: Final = "local-verify-token"  # noqa: S105 - as above
API_VERSION: Final = "v25.0"

Say = Callable[[str], None]


class FunctionFailedError(RuntimeError):
    """A function that was invoked raised."""


@dataclass(frozen=True)
class SimulatedApi:
    """The simulated Cloud API and its ledger."""

    process: Process
    port: int
    ledger: Path
    config: Path

    @property
    def url(self) -> str:
        """Of the server; the Cloud API's paths begin with a version."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, what: str) -> dict[str, Any]:
        """Return what ``/_sim/<what>`` answers."""
        answer = requests.get(f"{self.url}/_sim/{what}", timeout=10)
        answer.raise_for_status()
        return dict(answer.json())

    def tell(self, what: str, **values: Any) -> None:
        """Post to ``/_sim/<what>``."""
        requests.post(f"{self.url}/_sim/{what}", json=values, timeout=30).raise_for_status()


@dataclass(frozen=True)
class System:
    """The running system, as a user sees it."""

    processes: Processes
    postgres: Postgres
    api: SimulatedApi
    aws: LocalAws
    deployment: Deployment
    caps: Mapping[str, int]
    """Messages per second by phone_number_id."""

    def database(self) -> Database:
        """Open a connection of the caller's own."""
        return database_of(self.postgres.url)

    def upload(self, file: Path) -> str:
        """Put an audience where campaigns may read it and return its ``s3://`` URI."""
        return self.put(file.name, file.read_bytes())

    def put(self, name: str, content: bytes) -> str:
        """Put a file there under a name and return its ``s3://`` URI."""
        bucket = self.deployment.audience_bucket
        self.aws.client("s3").put_object(Bucket=bucket, Key=name, Body=content)
        return f"s3://{bucket}/{name}"

    def publish(self, request: Mapping[str, Any], **attributes: str) -> None:
        """Publish to the topic, as a client does."""
        self.aws.client("sns").publish(
            TopicArn=self.deployment.topic_arn,
            Message=json.dumps(request),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
            },
        )

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:
        """Invoke a function by its step and return what it returns."""
        answer = self.aws.client("lambda").invoke(
            FunctionName=self.deployment.functions[function], Payload=json.dumps(event).encode()
        )
        payload = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" in answer:
            raise FunctionFailedError(f"{function}: {payload}")
        return payload

    def report(self, campaign: str) -> dict[str, Any]:
        """Return the report of a campaign."""
        return dict(self.invoke("report", {"campaign": campaign}))

    def crash(self) -> None:
        """Kill Postgres and every function that runs, and start Postgres again."""
        for worker in self.aws.workers():
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        self.postgres.crash(self.processes)

    def waiting(self, queue: str) -> int:
        """Return how many messages a queue holds, in flight or not."""
        answer = self.aws.client("sqs").get_queue_attributes(
            QueueUrl=self.deployment.queue_urls[queue],
            AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
        )
        return sum(int(value) for value in answer["Attributes"].values())


@contextmanager
def running_system(
    *,
    run_directory: Path,
    aws_environment: Path,
    simulation: Mapping[str, Any],
    stage: Mapping[str, Any] | None = None,
    say: Say = lambda _: None,
    reads_policies: bool = False,
) -> Iterator[System]:
    """Start everything, yield it, and end everything again, whatever happens.

    ``aws_environment`` is the virtual environment that has ministack; ``simulation`` changes the
    simulated Cloud API's config and ``stage`` that of the local stage; ``say`` is told what is
    being done; ``reads_policies`` as in ``start_local_aws``.
    """
    with Processes(run_directory) as processes:
        say("Postgres")
        postgres = start_postgres(processes, run_directory=run_directory)
        database = database_of(postgres.url)
        migrate(database)
        database.close()
        say("the simulated Cloud API")
        caps = _caps(stage or {})
        api = start_simulated_api(
            processes, run_directory=run_directory, caps=caps, changes=simulation
        )
        say("AWS on this machine")
        aws = start_local_aws(
            processes,
            run_directory=run_directory,
            environment=aws_environment,
            reads_policies=reads_policies,
        )
        say("the templates")
        assembly = synthesise(
            output_directory=run_directory / "cdk.out",
            cloud_api_url=f"{api.url}/{API_VERSION}",
            database_url=postgres.url,
            stage=stage,
        )
        say("the deployment")
        deployment = deploy(aws, assembly)
        put_secrets(
            aws,
            deployment,
            access_token=ACCESS_TOKEN,
            app_secrets=(APP_SECRET,),
            verify_token=VERIFY_TOKEN,
        )
        api.tell("webhook", url=deployment.webhook_url, verify_token=VERIFY_TOKEN)
        yield System(processes, postgres, api, aws, deployment, caps)


def start_simulated_api(
    processes: Processes,
    *,
    run_directory: Path,
    caps: Mapping[str, int],
    changes: Mapping[str, Any],
) -> SimulatedApi:
    """Start the simulated Cloud API with these caps; its ledger begins empty."""
    config = run_directory / "cloud-api.json"
    numbers = {number: {"messages_per_second": cap} for number, cap in caps.items()}
    config.write_text(
        json.dumps({
            "numbers": numbers,
            "access_tokens": [ACCESS_TOKEN],
            "app_secrets": [APP_SECRET],
            **changes,
        }),
        encoding="utf-8",
    )  # fmt: skip
    ledger = run_directory / "ledger.sqlite"
    port = free_port()
    process = processes.start(
        "cloud-api",
        [
            sys.executable, "-m", "local.cloud_api",
            "--port", str(port), "--config", config, "--ledger", ledger,
        ],
        environment=clean_environment(),
        ready=lambda: answers(port),
    )  # fmt: skip
    return SimulatedApi(process, port, ledger, config)


def database_of(url: str) -> Database:
    """Return a connection to a database of this machine."""
    return Database(parameters_of(url, with_iam=False, client=lambda _: None))


def _caps(stage: Mapping[str, Any]) -> dict[str, int]:
    numbers = stage_of(stage)["numbers"]
    return {number["phone_number_id"]: number["messages_per_second"] for number in numbers}


def answers(port: int) -> bool:
    """Whether the simulated API takes requests."""
    try:
        return requests.get(f"http://127.0.0.1:{port}/_sim/health", timeout=2).ok
    except requests.RequestException:
        return False

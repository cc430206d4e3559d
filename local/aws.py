"""AWS on this machine: ministack in a virtual environment of its own, on the loopback interface.

Its functions run with the interpreter of that environment, so both environments must be of the
same Python version, and boto3 must be installed in it, as Lambda has it.
"""

import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config

from local.processes import Process, Processes, clean_environment, free_port

ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
STRICT: Final = Path(__file__).with_name("strict_aws.py")
CALL_SECONDS_MAX: Final = 1_000
"""A synchronous invocation may take Lambda's 900 s."""


@dataclass(frozen=True)
class LocalAws:
    """A running local AWS."""

    process: Process
    port: int
    answers: Path | None = None
    """What policies said to each call, if it reads them: see ``local.answers``."""

    @property
    def endpoint_url(self) -> str:
        """Of every service."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, service: str) -> Any:
        """A boto3 client that can only reach this machine."""
        return _client(service, self.endpoint_url)

    def workers(self, function: str = "") -> list[int]:
        """Process ids of the environments of a function, or of all; none where /proc is not."""
        variable = f"AWS_LAMBDA_FUNCTION_NAME={function}".encode()
        found = []
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                environment = (directory / "environ").read_bytes().split(b"\0")
                session = os.getsid(int(directory.name))
            except (OSError, ProcessLookupError):
                continue
            ours = session == self.process.popen.pid
            named = (
                variable in environment
                if function
                else any(one.startswith(variable) for one in environment)
            )
            if ours and named:
                found.append(int(directory.name))
        return found

    def http_api_url(self, api_id: str, path: str) -> str:
        """Where ministack serves an HTTP API's default stage."""
        return f"{self.endpoint_url}/_aws/execute-api/{api_id}/$default{path}"


def start_local_aws(
    processes: Processes,
    *,
    run_directory: Path,
    environment: Path,
    log_level: str = "WARNING",
    reads_policies: bool = False,
) -> LocalAws:
    """Start an empty local AWS; ``environment`` is the virtual environment that has ministack.

    ``reads_policies``: it refuses what IAM and the policies of resources do not allow, and its
    functions are who their role is.
    """
    port = free_port()
    directory = run_directory / "aws"
    directory.mkdir(parents=True, exist_ok=True)
    answers = run_directory / "aws-answers.jsonl" if reads_policies else None
    program = [STRICT, answers] if answers else ["-m", "ministack"]
    process = processes.start(
        "aws",
        [environment / "bin" / "python", *program],
        environment=clean_environment(
            BIND_HOST="127.0.0.1",
            GATEWAY_PORT=str(port),
            # Otherwise queue URLs name localhost, which need not be 127.0.0.1.
            MINISTACK_HOST="127.0.0.1",
            MINISTACK_REGION=REGION,
            LAMBDA_ACCOUNT_CONCURRENCY="0",
            AUTH=str(reads_policies).lower(),
            LOG_LEVEL=log_level,
            HOME=str(directory),
            TMPDIR=str(directory),
            # A worker's output is its log: it must not wait in a buffer.
            PYTHONUNBUFFERED="1",
        ),
        ready=lambda: _answers(port),
        # Each worker unpacks its function and its layers there: 60 MB.
        scratch=directory,
    )
    return LocalAws(process, port, answers)


@cache
def _client(service: str, endpoint_url: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="local",  # noqa: S106 - nobody checks it
        config=Config(read_timeout=CALL_SECONDS_MAX, retries={"total_max_attempts": 1}),
    )


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_ministack/ready", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False

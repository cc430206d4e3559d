"""What integration tests share: AWS in this process, and servers that misbehave."""

import sys
import tempfile
from pathlib import Path

import pytest
from moto import mock_aws

from local.cloud_api.config import Config, as_json
from local.processes import clean_environment, free_port
from local.system import SimulatedApi, answers
from tests.conftest import NUMBER, OTHER_NUMBER
from tests.integration.http_servers import Server
from tests.integration.simulated_aws import SimulatedAws


@pytest.fixture
def aws(monkeypatch):
    """Empty queues, topics, buckets, secrets and parameters."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield SimulatedAws()


@pytest.fixture(scope="session")
def graph_process(processes):
    """The simulated Cloud API, started once."""
    with tempfile.TemporaryDirectory(prefix="sluice-graph-") as directory:
        port, ledger = free_port(), Path(directory) / "ledger.sqlite"
        process = processes.start(
            "graph",
            [sys.executable, "-m", "local.cloud_api", "--port", str(port), "--ledger", ledger],
            environment=clean_environment(),
            ready=lambda: answers(port),
        )
        yield SimulatedApi(process, port, ledger, Path(directory))
        processes.stop(process)


@pytest.fixture
def graph(graph_process):
    """Meta's Graph API as it is by default, with two numbers; a test may tell it otherwise."""
    config = as_json(Config()) | {"numbers": {number: {} for number in (NUMBER, OTHER_NUMBER)}}
    graph_process.tell("config", **config)
    return graph_process


@pytest.fixture
def serve():
    """Starts servers on the loopback interface that answer as they are told."""
    servers = []

    def start(reply):
        servers.append(Server(reply))
        return servers[-1]

    yield start
    for server in servers:
        server.close()

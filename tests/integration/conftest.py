"""What integration tests share: AWS in this process, and servers that misbehave."""

import pytest
from moto import mock_aws

from tests.integration.http_servers import Server
from tests.integration.simulated_aws import SimulatedAws


@pytest.fixture
def aws(monkeypatch):
    """Empty queues, topics, buckets, secrets and parameters."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield SimulatedAws()


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

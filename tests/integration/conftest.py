"""AWS in this process, for every integration test that asks for it."""

import pytest
from moto import mock_aws

from tests.integration.simulated_aws import SimulatedAws


@pytest.fixture
def aws(monkeypatch):
    """Empty queues, topics, buckets, secrets and parameters."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield SimulatedAws()

"""What Meta calls, and the queue behind it, as a stage chooses them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.application import new_app, templates_of
from infra.config import load_stage
from sluice.domain.limits import SQS_BATCH_ENTRIES_MAX, STATUS_BATCH_MESSAGES
from tests.infra.example import code_in

SHARED = "SluiceShared-example"
Template = dict[str, Any]


@pytest.fixture(scope="module")
def cheap(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The shared stack with the cheaper of both, checked by cdk-nag and our own validators."""
    stage = replace(load_stage("example"), webhook_entry="function_url", statuses_queue="standard")
    app = new_app(str(tmp_path_factory.mktemp("cdk")))
    code = code_in(Path(tmp_path_factory.mktemp("code")))
    shared: Template = templates_of(app, stage=stage, code=code)[SHARED]
    return shared


def of_type(template: Template, kind: str) -> Iterator[dict[str, Any]]:
    for resource in template["Resources"].values():
        if resource["Type"] == kind:
            yield resource["Properties"]


def test_the_function_is_called_at_an_address_of_its_own(cheap: Template) -> None:
    (url,) = of_type(cheap, "AWS::Lambda::Url")
    assert url["AuthType"] == "NONE", "Meta signs, but not as AWS's callers do"
    assert not list(of_type(cheap, "AWS::ApiGatewayV2::Api"))
    assert "WebhookUrl" in cheap["Outputs"]
    assert "WebhookApiId" not in cheap["Outputs"]


def test_anybody_may_call_it_by_its_address_and_in_no_other_way(cheap: Template) -> None:
    by_anybody = [
        one for one in of_type(cheap, "AWS::Lambda::Permission") if one["Principal"] == "*"
    ]
    assert by_anybody
    for permission in by_anybody:
        by_address = permission.get("FunctionUrlAuthType") or permission.get(
            "InvokedViaFunctionUrl"
        )
        assert by_address, permission


def test_only_its_reserved_executions_hold_it_back(cheap: Template) -> None:
    (webhook,) = [
        one
        for one in of_type(cheap, "AWS::Lambda::Function")
        if one["FunctionName"] == "sluice-example-webhook"
    ]
    assert webhook["ReservedConcurrentExecutions"] == load_stage("example").webhook_concurrency


def test_statuses_come_in_large_batches_from_a_standard_queue(cheap: Template) -> None:
    names = [one["QueueName"] for one in of_type(cheap, "AWS::SQS::Queue")]
    assert "sluice-example-statuses" in names
    assert not [name for name in names if name.endswith(".fifo")]
    batches = [
        (one["BatchSize"], one["MaximumBatchingWindowInSeconds"])
        for one in of_type(cheap, "AWS::Lambda::EventSourceMapping")
        if one["BatchSize"] > SQS_BATCH_ENTRIES_MAX
    ]
    assert batches == [(STATUS_BATCH_MESSAGES, 1)]

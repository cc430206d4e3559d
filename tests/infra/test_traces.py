"""X-Ray by flag: functions, topics, and who may write traces."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from infra.application import new_app, templates_of
from infra.config import load_stage
from infra.stage_parts import Features
from tests.infra.example import code_in
from tests.infra.test_template import Resources, of_type, ours, permissions

EXAMPLE = load_stage("example")


def synthesised(directory: Path, *, xray: bool) -> Resources:
    (directory / "code").mkdir()
    app = new_app(str(directory / "cdk"))
    templates = templates_of(
        app,
        stage=replace(EXAMPLE, features=Features(xray=xray)),
        code=code_in(directory / "code"),
    )
    return {
        f"{stack}/{name}": resource
        for stack, template in templates.items()
        for name, resource in template["Resources"].items()
    }


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    return synthesised(tmp_path_factory.mktemp("traced"), xray=True)


def test_with_xray_every_function_and_topic_is_traced(traced: Resources) -> None:
    assert all(function["TracingConfig"] == {"Mode": "Active"} for function in ours(traced))
    requests = {
        topic["TopicName"]: topic.get("TracingConfig")
        for _, topic in of_type(traced, "AWS::SNS::Topic")
        if "alarms" not in topic["TopicName"]
    }
    assert requests == {
        "sluice-example-campaign-requests": "Active",
        "sluice-example-inbound-messages": "Active",
    }


def test_only_our_topics_may_write_traces_as_sns(traced: Resources) -> None:
    ((_, policy),) = of_type(traced, "AWS::XRay::ResourcePolicy")
    parts = policy["PolicyDocument"]["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else "x" for part in parts)
    (statement,) = json.loads(text)["Statement"]
    assert statement["Principal"] == {"Service": "sns.amazonaws.com"}
    assert len(statement["Condition"]["ArnEquals"]["aws:SourceArn"]) == 2


def test_a_wildcard_is_given_for_traces_and_nothing_else(traced: Resources) -> None:
    for name, statement in permissions(traced):
        if statement["Resource"] == "*" and "Step" in name:
            assert set(statement["Action"]) == {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}


def test_without_it_nothing_is_traced(tmp_path: Path) -> None:
    untraced = synthesised(tmp_path, xray=False)
    assert not [function for function in ours(untraced) if "TracingConfig" in function]
    assert not list(of_type(untraced, "AWS::XRay::ResourcePolicy"))

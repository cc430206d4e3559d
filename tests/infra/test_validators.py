"""Each rule is broken once, in templates and stages that keep all the others."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.config import Stage, stage_of
from infra.edges import send_filter, unrouted_filter
from infra.validators import InvalidDeploymentError, validate

NUMBER = {
    "phone_number_id": "106540352242922",
    "account_id": "1",
    "portfolio_id": "1",
    "messages_per_second": 80,
    "bucket": 0,
}
STAGE = stage_of(
    {
        "stage": "test",
        "region": "eu-central-1",
        "runtime": "python3.14",
        "cloud_api_url": "https://graph.facebook.com/v25.0",
        "database": {"url": "postgresql://sluice@127.0.0.1/sluice"},
        "numbers": [NUMBER],
    }
)
TEMPLATE: dict[str, Any] = {
    "Resources": {
        "Sender": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "FunctionName": "sender",
                "ReservedConcurrentExecutions": 2,
                "Timeout": 60,
                "Environment": {
                    "Variables": {
                        "PHONE_NUMBER_ID": NUMBER["phone_number_id"],
                        "LANE": "bulk",
                        "SLOTS": "2",
                        "SLOT_SENDS_PER_SECOND": "31.0",
                        "SLOT_SENDS_PER_SECOND_LENT": "40.0",
                    }
                },
            },
        },
        "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 360}},
        "Mapping": {
            "Type": "AWS::Lambda::EventSourceMapping",
            "Properties": {
                "FunctionName": {"Ref": "Sender"},
                "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
                "BatchSize": 8,
                "ScalingConfig": {"MaximumConcurrency": 2},
                "FunctionResponseTypes": ["ReportBatchItemFailures"],
            },
        },
        "Subscription": {
            "Type": "AWS::SNS::Subscription",
            "Properties": {"FilterPolicy": send_filter(str(NUMBER["phone_number_id"]), "bulk")},
        },
    }
}


def problems_of(template: dict[str, Any], stage: Stage = STAGE) -> list[str]:
    with pytest.raises(InvalidDeploymentError) as raised:
        validate({"stack": template}, stage=stage)
    return raised.value.problems


def changed(resource: str, **properties: Any) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    template["Resources"][resource]["Properties"].update(properties)
    return template


def told(**changes: str) -> dict[str, Any]:
    variables = TEMPLATE["Resources"]["Sender"]["Properties"]["Environment"]["Variables"]
    return changed("Sender", Environment={"Variables": {**variables, **changes}})


def with_both_lanes(conversation_rate: str) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    other = copy.deepcopy(TEMPLATE["Resources"]["Sender"])
    other["Properties"]["Environment"]["Variables"] |= {
        "LANE": "conversation",
        "SLOT_SENDS_PER_SECOND": conversation_rate,
    }
    template["Resources"]["Other"] = other
    return template


def repeated(resource: str, times: int) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    for index in range(times):
        template["Resources"][f"More{index}"] = TEMPLATE["Resources"][resource]
    return template


def test_what_keeps_every_rule_passes() -> None:
    validate({"stack": TEMPLATE}, stage=STAGE)
    validate({"stack": with_both_lanes("9.0")}, stage=STAGE)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        (changed("Sender", ReservedConcurrentExecutions=1), "reserved concurrency 1"),
        (changed("Mapping", ScalingConfig={"MaximumConcurrency": 10}), "event source maximum 10"),
        (changed("Mapping", ScalingConfig={}), "no maximum concurrency"),
        (changed("Sender", ReservedConcurrentExecutions=None), "nothing bounds its rate"),
        (changed("Mapping", FunctionResponseTypes=[]), "whole batch back"),
        (changed("Queue", VisibilityTimeout=359), "under 360 s"),
        (told(SLOT_SENDS_PER_SECOND_LENT="40.1"), "82 sends in a second are over its cap of 80"),
        (with_both_lanes("9.1"), "82 sends in a second are over its cap of 80"),
        (told(SLOTS="3"), "it is told 3 slots and has 2"),
        (changed("Mapping", BatchSize=20), "do not fit"),
        (repeated("Queue", 500), "504 resources"),
        (repeated("Subscription", 200), "201 filter policies"),
        (
            changed("Subscription", FilterPolicy=unrouted_filter([str(n) for n in range(150)])),
            "163 value combinations",
        ),
        (
            changed("Subscription", FilterPolicy={name: ["value"] for name in "abcdef"}),
            "6 keys, at most 5",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_rule_is_named(template: dict[str, Any], problem: str) -> None:
    assert any(problem in found for found in problems_of(template))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda stage: replace(stage, numbers=stage.numbers * 2), "appears 2 times"),
        (
            lambda stage: replace(
                stage,
                numbers=tuple(
                    replace(stage.numbers[0], phone_number_id=f"{10_000 + index}")
                    for index in range(26)
                ),
            ),
            "bucket 0 holds 26, at most 25",
        ),
        (lambda stage: replace(stage, account_concurrency=101), "the account can reserve 1"),
    ],
    ids=["twice", "full", "account"],
)
def test_a_broken_stage_is_named(change: Callable[[Stage], Stage], problem: str) -> None:
    assert any(problem in found for found in problems_of(TEMPLATE, change(STAGE)))


def test_one_error_lists_every_problem() -> None:
    template = changed("Queue", VisibilityTimeout=1)
    template["Resources"]["Mapping"]["Properties"]["BatchSize"] = 20
    assert len(problems_of(template, replace(STAGE, account_concurrency=101))) == 3


def test_a_daily_limit_of_a_portfolio_without_numbers_is_refused() -> None:
    stage = replace(STAGE, daily_limits={"1": 250, "2": 2_000})
    with pytest.raises(InvalidDeploymentError, match="no number is of the portfolio 2"):
        validate({"stack": TEMPLATE}, stage=stage)

"""Each rule is broken once, in templates and stages that keep all the others."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.config import Stage, stage_of
from infra.edges import send_filter, unrouted_filter
from infra.stage_checks import journal_problems
from infra.stage_parts import AuroraDatabase
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


def sender(lane: str, own: str, lent: str) -> dict[str, Any]:
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "FunctionName": lane,
            "ReservedConcurrentExecutions": 2,
            "Timeout": 60,
            "Environment": {
                "Variables": {
                    "PHONE_NUMBER_ID": NUMBER["phone_number_id"],
                    "LANE": lane,
                    "SLOTS": "2",
                    "SLOT_SENDS_PER_SECOND": own,
                    "SLOT_SENDS_PER_SECOND_LENT": lent,
                }
            },
        },
    }


TEMPLATE: dict[str, Any] = {
    "Resources": {
        "Sender": sender("bulk", "30.4", "38.0"),
        "Other": sender("conversation", "7.6", "7.6"),
        "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "dead"}},
        "Queue": {
            "Type": "AWS::SQS::Queue",
            "Properties": {
                "QueueName": "queue",
                "VisibilityTimeout": 360,
                "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}},
            },
        },
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
        "ApiStage": {
            "Type": "AWS::ApiGatewayV2::Stage",
            "Properties": {
                "DefaultRouteSettings": {
                    "ThrottlingRateLimit": 228,
                    "ThrottlingBurstLimit": 456,
                }
            },
        },
    }
}
ALARMS: dict[str, Any] = {
    "Resources": {
        "Alarm": {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "MetricName": "ApproximateNumberOfMessagesVisible",
                "Dimensions": [{"Name": "QueueName", "Value": "dead"}],
            },
        }
    }
}


def problems_of(
    template: dict[str, Any], stage: Stage = STAGE, alarms: dict[str, Any] = ALARMS
) -> list[str]:
    with pytest.raises(InvalidDeploymentError) as raised:
        validate({"stack": template, "alarms": alarms}, stage=stage)
    return raised.value.problems


def changed(resource: str, **properties: Any) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    template["Resources"][resource]["Properties"].update(properties)
    return template


def lane_told(lane: str, **changes: str) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    template["Resources"][lane]["Properties"]["Environment"]["Variables"] |= changes
    return template


def without(resource: str, name: str) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    del template["Resources"][resource]["Properties"][name]
    return template


def with_output(**output: Any) -> dict[str, Any]:
    return {**TEMPLATE, "Outputs": {"Fact": {"Value": "x", **output}}}


def repeated(resource: str, times: int) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    for index in range(times):
        template["Resources"][f"More{index}"] = TEMPLATE["Resources"][resource]
    return template


def test_what_keeps_every_rule_passes() -> None:
    validate({"stack": TEMPLATE, "alarms": ALARMS}, stage=STAGE)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        (changed("Sender", ReservedConcurrentExecutions=1), "reserved concurrency 1"),
        (changed("Mapping", ScalingConfig={"MaximumConcurrency": 10}), "event source maximum 10"),
        (changed("Mapping", ScalingConfig={}), "no maximum concurrency"),
        (changed("Sender", ReservedConcurrentExecutions=None), "nothing bounds its rate"),
        (changed("Mapping", FunctionResponseTypes=[]), "whole batch back"),
        (changed("Queue", VisibilityTimeout=359), "under 360 s"),
        (without("Queue", "RedrivePolicy"), "its queue has no dead-letter queue"),
        (lane_told("Sender", SLOT_SENDS_PER_SECOND_LENT="40.1"), "82 sends in a second are over"),
        (lane_told("Other", SLOT_SENDS_PER_SECOND="9.1"), "82 sends in a second are over its cap"),
        (lane_told("Other", SLOT_SENDS_PER_SECOND="7.5"), "make 75.8 sends a second, not 76"),
        (lane_told("Sender", SLOTS="3"), "it is told 3 slots and has 2"),
        (
            changed("ApiStage", DefaultRouteSettings={"ThrottlingRateLimit": 227}),
            "the webhook lets in 0 requests a second, and may be brought 228",
        ),
        (
            changed(
                "ApiStage",
                DefaultRouteSettings={"ThrottlingRateLimit": 227, "ThrottlingBurstLimit": 900},
            ),
            "the webhook lets in 227 requests a second, and may be brought 228",
        ),
        (with_output(Export={"Name": "fact"}), "output Fact is exported"),
        (changed("Sender", KmsKeyArn={"Fn::ImportValue": "fact"}), "imports a value of another"),
        (repeated("Subscription", 1), "2 subscriptions take the same messages"),
        (changed("Mapping", BatchSize=20), "do not fit"),
        (repeated("Queue", 500), "507 resources"),
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
                    for index in range(24)
                ),
            ),
            "bucket 0 holds 24, at most 23",
        ),
        (
            lambda stage: replace(stage, account_concurrency=103),
            "4 executions are reserved, the account can reserve 3",
        ),
    ],
    ids=["twice", "full", "account"],
)
def test_a_broken_stage_is_named(change: Callable[[Stage], Stage], problem: str) -> None:
    assert any(problem in found for found in problems_of(TEMPLATE, change(STAGE)))


@pytest.mark.parametrize(
    "alarm",
    [
        {},
        {"MetricName": "ApproximateNumberOfMessagesVisible"},
        {
            "MetricName": "ApproximateNumberOfMessagesVisible",
            "Dimensions": [{"Name": "QueueName", "Value": "queue"}],
        },
        {
            "MetricName": "NumberOfMessagesSent",
            "Dimensions": [{"Name": "QueueName", "Value": "dead"}],
        },
    ],
    ids=["none", "no queue", "another queue", "another metric"],
)
def test_a_dead_letter_queue_that_no_alarm_watches_is_named(alarm: dict[str, Any]) -> None:
    alarms = {"Resources": {"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm}}}
    assert problems_of(TEMPLATE, alarms=alarms) == [
        "dead: messages end there, and no alarm rings when one does"
    ]


def test_an_alarm_may_name_the_queue_in_its_own_stack_or_in_a_formula() -> None:
    dimensions = [{"Name": "QueueName", "Value": {"Fn::GetAtt": ["Dead", "QueueName"]}}]
    metric = {"MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": dimensions}
    for properties in (metric, {"Metrics": [{"Id": "m", "MetricStat": {"Metric": metric}}]}):
        template = copy.deepcopy(TEMPLATE)
        template["Resources"]["Alarm"] = {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": properties,
        }
        validate({"stack": template}, stage=STAGE)


def test_what_a_subscription_could_not_deliver_must_be_watched_too() -> None:
    template = changed(
        "Subscription",
        RedrivePolicy={"deadLetterTargetArn": {"Fn::GetAtt": ["Queue", "Arn"]}},
    )
    assert problems_of(template) == ["queue: messages end there, and no alarm rings when one does"]


def test_a_webhook_that_is_told_to_let_in_too_little_is_refused() -> None:
    stage = replace(STAGE, webhook_requests_per_second=227)
    assert any("is under what Meta may bring, 228" in one for one in problems_of(TEMPLATE, stage))


def test_a_webhook_may_let_in_more() -> None:
    stage = replace(STAGE, webhook_requests_per_second=5_000)
    assert (STAGE.webhook_rate, stage.webhook_rate) == (228, 5_000)


def test_one_error_lists_every_problem() -> None:
    template = changed("Queue", VisibilityTimeout=1)
    template["Resources"]["Mapping"]["Properties"]["BatchSize"] = 20
    assert len(problems_of(template, replace(STAGE, account_concurrency=103))) == 3


def test_a_daily_limit_of_a_portfolio_without_numbers_is_refused() -> None:
    stage = replace(STAGE, daily_limits={"1": 250, "2": 2_000})
    with pytest.raises(InvalidDeploymentError, match="no number is of the portfolio 2"):
        validate({"stack": TEMPLATE, "alarms": ALARMS}, stage=stage)


def test_logs_that_are_gone_before_the_backups_that_need_them_are_not_deployed() -> None:
    kept = replace(STAGE, database=AuroraDatabase(backup_days=30), log_retention_days=30)
    assert list(journal_problems(kept)) == []
    (problem,) = journal_problems(replace(kept, log_retention_days=14))
    assert "log_retention_days: 14 is less than backup_days, 30" in problem

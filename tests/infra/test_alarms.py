"""The alarms of every stage, read as CloudFormation will read them."""

import re
from dataclasses import replace
from typing import Any

import pytest

from infra.config import Stage
from infra.observability.table import DATABASE_AWAY, TABLE
from infra.stage_checks import NUMBERS_PER_BUCKET_MAX
from sluice.metrics import METRICS, namespace_of
from tests.infra.stages import (
    STAGES,
    WATCHING,
    of_type,
    stage_named,
    synthesised,
    templates_named,
)

WATCHING_TYPES = {
    "AWS::CDK::Metadata",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::KMS::Key",
    "AWS::Logs::QueryDefinition",
    "AWS::SNS::Subscription",
    "AWS::SNS::Topic",
    "AWS::SNS::TopicPolicy",
}
NUMBERS_IN_A_BUCKET = 25
RESOURCES_MAX = 500

every_stage = pytest.mark.parametrize("name", STAGES)


def alarms_of(name: str) -> dict[str, dict[str, Any]]:
    found = of_type(templates_named(name), "AWS::CloudWatch::Alarm")
    return {alarm["AlarmName"]: dict(alarm) for alarm in found}


def composites_of(name: str) -> dict[str, dict[str, Any]]:
    found = of_type(templates_named(name), "AWS::CloudWatch::CompositeAlarm")
    return {alarm["AlarmName"]: dict(alarm) for alarm in found}


def metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """What an alarm looks at: each metric with its namespace, name and dimensions."""
    stated = [
        one["MetricStat"]["Metric"] for one in alarm.get("Metrics", []) if "MetricStat" in one
    ]
    return stated or [alarm]


def watched_by(alarm: dict[str, Any], dimension: str) -> set[str]:
    return {
        one["Value"]
        for metric in metrics_of(alarm)
        for one in metric.get("Dimensions", [])
        if one["Name"] == dimension and isinstance(one["Value"], str)
    }


def subjects_of(name: str, row: str, dimension: str) -> set[str]:
    prefix = f"sluice-{name}-{row}-"
    return {
        subject
        for alarm_name, alarm in alarms_of(name).items()
        if alarm_name.startswith(prefix)
        for subject in watched_by(alarm, dimension)
    }


def queues_of(name: str) -> set[str]:
    return {queue["QueueName"] for queue in of_type(templates_named(name), "AWS::SQS::Queue")}


def functions_of(name: str) -> set[str]:
    functions = of_type(templates_named(name), "AWS::Lambda::Function")
    return {one["FunctionName"] for one in functions if "FunctionName" in one}


def ending(names: set[str], *endings: str) -> set[str]:
    return {name for name in names if name.removesuffix(".fifo").endswith(endings)}


@every_stage
def test_every_queue_rings_when_something_lies_in_it_or_nothing_moves(name):
    queues = queues_of(name)
    kept = {
        "dead-letters": "-dead",
        "undelivered": "-undelivered",
        "parked-messages": "-parked",
        "unrouted-messages": "-unrouted",
    }

    for row, suffix in kept.items():
        assert subjects_of(name, row, "QueueName") == ending(queues, suffix) != set()
    work = queues - ending(queues, *kept.values())
    assert subjects_of(name, "queue-stalled", "QueueName") == work != set()


@every_stage
def test_every_function_rings_when_it_fails(name):
    failing = subjects_of(name, "function-errors", "FunctionName")
    failing |= subjects_of(name, "rare-function-errors", "FunctionName")

    assert failing == functions_of(name) != set()


@every_stage
def test_every_function_rings_when_it_is_throttled_but_those_of_the_clock(name):
    clock = {f"sluice-{name}-{step}" for step in ("dispatch", "reconcile", "redrive")}

    assert subjects_of(name, "function-throttled", "FunctionName") == functions_of(name) - clock
    hourly = {f"sluice-{name}-erase"}
    assert subjects_of(name, "not-running", "FunctionName") == clock | hourly


@every_stage
def test_every_number_rings_for_what_a_number_does(name):
    numbers = {number.phone_number_id for number in stage_named(name).numbers}

    for row in ("rate-unused", "throttled-by-meta"):
        assert subjects_of(name, row, "phone_number_id") == numbers


@every_stage
def test_a_campaign_that_waits_for_an_approval_rings(name):
    alarm = alarms_of(name)[f"sluice-{name}-awaiting-approval"]

    assert alarm["MetricName"] == "CampaignsAwaitingApproval"
    assert alarm["Dimensions"] == [{"Name": "service", "Value": "reconcile"}]
    assert alarm["AlarmActions"]


@every_stage
def test_every_row_of_the_table_rings_somewhere(name):
    own_database = any(of_type(templates_named(name), "AWS::RDS::DBCluster"))
    rung = set(alarms_of(name))

    for row in TABLE:
        expected = own_database or not row.name.startswith("database-")
        found = [one for one in rung if one.startswith(f"sluice-{name}-{row.name}")]
        assert bool(found) == expected, row.name


@every_stage
def test_silence_is_bad_news_only_of_what_must_run(name):
    breaching = {
        alarm_name
        for alarm_name, alarm in alarms_of(name).items()
        if alarm["TreatMissingData"] != "notBreaching"
    }

    steps = ("dispatch", "reconcile", "redrive")
    expected = {f"sluice-{name}-not-running-{step}" for step in steps}
    assert breaching == expected | {f"sluice-{name}-not-running-hourly-erase"}


@every_stage
def test_each_metric_of_ours_is_one_that_a_function_emits_so(name):
    for alarm in alarms_of(name).values():
        for metric in metrics_of(alarm):
            if metric["Namespace"].startswith("AWS/"):
                continue
            assert metric["Namespace"] == namespace_of(name)
            known = METRICS[metric["MetricName"]]
            dimensions = {one["Name"]: one["Value"] for one in metric["Dimensions"]}
            assert dimensions.pop("service") in known.services
            assert set(dimensions) in [set(names) for names in known.by]


@every_stage
def test_every_alarm_tells_people_itself_or_by_its_composite_and_only_once(name):
    templates = templates_named(name)
    for stack, template in templates.items():
        resources = template["Resources"]
        composed = {
            logical_id
            for one in resources.values()
            if one["Type"] == "AWS::CloudWatch::CompositeAlarm"
            and "ActionsSuppressor" in one["Properties"]
            for logical_id in re.findall(
                r"'Fn::GetAtt': \['(\w+)', 'Arn'\]", str(one["Properties"]["AlarmRule"])
            )
        }
        silent = {
            logical_id
            for logical_id, one in resources.items()
            if one["Type"] == "AWS::CloudWatch::Alarm" and "AlarmActions" not in one["Properties"]
        }
        assert composed == silent, stack
    assert all(one["AlarmActions"] for one in composites_of(name).values())


@every_stage
def test_the_database_is_away_when_both_clocks_of_it_fail(name):
    away = composites_of(name)[f"sluice-{name}-{DATABASE_AWAY}"]
    template = next(t for s, t in templates_named(name).items() if s == f"{WATCHING}-{name}")

    named = re.findall(r"'Fn::GetAtt': \['(\w+)', 'Arn'\]", str(away["AlarmRule"]))
    signs = {template["Resources"][one]["Properties"]["AlarmName"] for one in named}
    assert signs == {f"sluice-{name}-function-errors-{step}" for step in ("dispatch", "reconcile")}
    assert " AND " in str(away["AlarmRule"])
    assert " OR " not in str(away["AlarmRule"])


@every_stage
def test_while_the_database_is_away_what_follows_from_it_is_silent(name):
    suppressed = {
        one["AlarmName"]: str(one["ActionsSuppressor"])
        for one in composites_of(name).values()
        if one["AlarmName"] != f"sluice-{name}-{DATABASE_AWAY}"
    }

    assert len(suppressed) >= 7
    for suppressor in suppressed.values():
        assert "databaseaway" in suppressor.replace("-", "").lower()


@every_stage
def test_each_alarm_says_what_it_means_and_where_to_read_on(name):
    pages = {row.name for row in TABLE} | {DATABASE_AWAY}

    for alarm in (*alarms_of(name).values(), *composites_of(name).values()):
        meaning, _, anchor = alarm["AlarmDescription"].rpartition(" docs/runbook.md#")
        assert meaning
        assert anchor in pages


@every_stage
def test_the_stacks_that_watch_hold_nothing_else_and_nobody_waits_for_them(name):
    for stack, template in templates_named(name).items():
        types = {resource["Type"] for resource in template["Resources"].values()}
        if stack.startswith(WATCHING):
            assert types <= WATCHING_TYPES
        else:
            assert not {kind for kind in types if kind.startswith("AWS::CloudWatch")}
            assert "AWS::Logs::QueryDefinition" not in types


def full(stage: Stage, numbers: int) -> Stage:
    first = stage.numbers[0]
    return replace(
        stage,
        account_concurrency=10_000,
        numbers=tuple(
            replace(
                first, phone_number_id=f"{10_000 + place}", bucket=place // NUMBERS_PER_BUCKET_MAX
            )
            for place in range(numbers)
        ),
    )


@pytest.fixture(scope="module")
def crowded() -> dict[str, Any]:
    """A stage of 25 numbers."""
    return synthesised(full(stage_named("example"), NUMBERS_IN_A_BUCKET))


def test_the_alarms_of_25_numbers_would_fit_into_one_stack(crowded):
    held = [
        len(template["Resources"])
        for stack, template in crowded.items()
        if stack.startswith(f"{WATCHING}Numbers")
    ]

    assert 100 < sum(held) <= RESOURCES_MAX


def test_no_alarm_looks_at_more_metrics_than_cloudwatch_takes(crowded):
    for alarm in of_type(crowded, "AWS::CloudWatch::Alarm"):
        assert len(metrics_of(dict(alarm))) <= 10


def test_no_rule_of_a_composite_is_longer_than_cloudwatch_takes(crowded):
    arn = (
        "arn:aws:cloudwatch:eu-central-1:123456789012:alarm:sluice-example-queue-stalled-"
        + 45 * "x"
    )
    for composite in of_type(crowded, "AWS::CloudWatch::CompositeAlarm"):
        rule = re.sub(r"\{'Fn::GetAtt': \[[^]]*\]\}", arn, str(composite["AlarmRule"]))
        assert len(rule) <= 10_240
        assert rule.count("ALARM(") <= 100

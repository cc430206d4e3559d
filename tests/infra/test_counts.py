"""What commands count from a stage's file is what its templates have."""

from typing import Any

import pytest

from cli.cost import assumed
from cli.preflight.needs import filter_policies, reserved_concurrency
from infra.application import new_app
from infra.config import load_stage
from infra.stacks import add_stacks
from tests.infra.test_template import code_in

Found = list[tuple[str, dict[str, Any]]]
STAGE = load_stage("example")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Every resource: its kind, its properties."""
    app = new_app(str(tmp_path_factory.mktemp("cdk")))
    code = code_in(tmp_path_factory.mktemp("code"))
    stacks = add_stacks(app, stage=STAGE, code=code, account=None)
    assembly = app.synth()
    templates = [assembly.get_stack_by_name(stack.stack_name).template for stack in stacks]
    return [
        (resource["Type"], resource.get("Properties", {}))
        for template in templates
        for resource in template["Resources"].values()
    ]


def of_kind(found: Found, kind: str) -> list[dict[str, Any]]:
    return [properties for known, properties in found if known == kind]


def test_preflight_asks_for_what_the_templates_take(found: Found) -> None:
    reserved = sum(
        properties.get("ReservedConcurrentExecutions", 0)
        for properties in of_kind(found, "AWS::Lambda::Function")
    )
    policies = [
        properties
        for properties in of_kind(found, "AWS::SNS::Subscription")
        if "FilterPolicy" in properties
    ]

    assert reserved_concurrency(STAGE) == reserved
    assert filter_policies(STAGE) == len(policies)


def counted(counts: tuple[int, int]) -> int:
    """As the bill counts."""
    shared, each = counts
    return shared + each * len(STAGE.numbers)


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        ("AWS::CloudWatch::CompositeAlarm", assumed.COMPOSITE_ALARMS),
        ("AWS::CloudWatch::Dashboard", assumed.DASHBOARDS),
        ("AWS::SecretsManager::Secret", assumed.SECRETS),
        ("AWS::KMS::Key", assumed.KEYS),
        ("AWS::Lambda::EventSourceMapping", assumed.QUEUES_WITH_EVENT_SOURCE),
    ],
)
def test_the_bill_counts_what_the_templates_make(
    found: Found, kind: str, counts: tuple[int, int]
) -> None:
    assert len(of_kind(found, kind)) == counted(counts)


def test_the_bill_counts_the_metrics_of_the_alarms(found: Found) -> None:
    watched = [
        metric
        for alarm in of_kind(found, "AWS::CloudWatch::Alarm")
        for metric in alarm.get("Metrics", [{"MetricStat": alarm}])
        if "MetricStat" in metric
    ]

    assert len(watched) == counted(assumed.ALARM_METRICS)


def test_the_bill_counts_the_routes_of_redrive(found: Found) -> None:
    routes = [
        properties
        for properties in of_kind(found, "AWS::SSM::Parameter")
        if "/routes/" in properties["Name"]
    ]

    assert len(routes) == counted(assumed.ROUTES)


def test_the_bill_knows_the_memory_of_every_function(found: Found) -> None:
    memory = {
        properties["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: properties["MemorySize"]
        for properties in of_kind(found, "AWS::Lambda::Function")
        if "POWERTOOLS_SERVICE_NAME" in properties.get("Environment", {}).get("Variables", {})
    }

    assert memory == assumed.MEMORY_MEGABYTES

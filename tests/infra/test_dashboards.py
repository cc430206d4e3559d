"""The dashboards and the saved questions, as CloudFormation will read them."""

import json
import re
from typing import Any

import pytest

from infra.observability.questions import CAMPAIGN, LOG_GROUPS_MAX, SENDING, SHARED
from sluice.metrics import METRICS, namespace_of
from tests.infra.stages import STAGES, of_type, stage_named, synthesised, templates_named
from tests.infra.test_alarms import full

every_stage = pytest.mark.parametrize("name", STAGES)
DASHBOARD_WIDGETS_MAX = 500
METRICS_PER_WIDGET_MAX = 500


def body_of(dashboard: Any) -> dict[str, Any]:
    """A dashboard's JSON; what only CloudFormation knows becomes a word."""
    body = dashboard["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    text = "".join(part if isinstance(part, str) else "resolved" for part in parts)
    found: dict[str, Any] = json.loads(text)
    return found


def dashboards_of(templates: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = of_type(templates, "AWS::CloudWatch::Dashboard")
    return {one["DashboardName"]: body_of(one) for one in found}


def shown(name: str) -> set[str]:
    """Our metrics on the dashboards."""
    text = json.dumps(dashboards_of(templates_named(name)))
    searched = re.findall(r"MetricName=\\+\"(\w+)", text)
    return {*re.findall(rf'"{namespace_of(name)}", "(\w+)"', text), *searched}


def test_every_metric_that_functions_emit_is_on_a_dashboard_and_no_other():
    assert shown("example") == set(METRICS)


@every_stage
def test_a_search_names_dimensions_that_the_metric_is_emitted_by(name):
    text = json.dumps(dashboards_of(templates_named(name)))
    searches = re.findall(r"SEARCH\('\{([^}]+)\} MetricName=\\+\"(\w+)", text)

    assert len(searches) >= 5
    for schema, metric in searches:
        namespace, service, *further = schema.split(",")
        assert (namespace, service) == (namespace_of(name), "service")
        assert tuple(further) in METRICS[metric].by


@every_stage
def test_the_campaign_s_dashboard_asks_the_log_for_the_campaign_that_is_typed(name):
    campaign = dashboards_of(templates_named(name))[f"sluice-{name}-campaign"]

    (variable,) = campaign["variables"]
    assert (variable["pattern"], variable["inputType"]) == (CAMPAIGN, "input")
    asked = [one["properties"]["query"] for one in campaign["widgets"] if one["type"] == "log"]
    assert sum(f"campaign_id = {CAMPAIGN}" in query for query in asked) >= 3
    assert CAMPAIGN not in {n.phone_number_id for n in stage_named(name).numbers}


@every_stage
def test_the_operator_sees_each_queue_function_and_number(name):
    templates = templates_named(name)
    text = json.dumps(dashboards_of(templates)[f"sluice-{name}-operator"])

    for queue in of_type(templates, "AWS::SQS::Queue"):
        kept = ("-undelivered", "-parked", "-unrouted")
        ends = queue["QueueName"].endswith(kept)
        assert ends or f'"{queue["QueueName"]}"' in text
    for function in of_type(templates, "AWS::Lambda::Function"):
        assert f'"{function.get("FunctionName", "Sends")}"' in text
    for number in stage_named(name).numbers:
        assert f"rate of {number.phone_number_id}" in text
    for topic in ("NumberOfMessagesPublished", "NumberOfNotificationsFilteredOut"):
        assert topic in text


@every_stage
def test_every_question_is_saved_and_reads_logs_that_there_are(name):
    templates = templates_named(name)
    groups = {group["LogGroupName"] for group in of_type(templates, "AWS::Logs::LogGroup")
              if isinstance(group.get("LogGroupName"), str)}  # fmt: skip
    saved = list(of_type(templates, "AWS::Logs::QueryDefinition"))

    names = {query["Name"].rpartition("/")[2] for query in saved}
    assert names == {question.name for question in (*SENDING, *SHARED)}
    for query in saved:
        assert 0 < len(query["LogGroupNames"]) <= LOG_GROUPS_MAX
        assert set(query["LogGroupNames"]) <= groups


@pytest.mark.parametrize(
    ("numbers", "alarms_usd_max", "metrics_usd_max"), [(1, 15.0, 17.0), (25, 60.0, 90.0)]
)
def test_what_it_costs_stays_bounded(numbers, alarms_usd_max, metrics_usd_max):
    """By AWS's prices: 0.10 a metric of an alarm, 0.50 a composite alarm, 0.30 a metric of ours."""
    templates = synthesised(full(stage_named("example"), numbers))
    alarms = [dict(one) for one in of_type(templates, "AWS::CloudWatch::Alarm")]
    watched = sum(
        len([one for one in alarm.get("Metrics", [{"MetricStat": 1}]) if "MetricStat" in one])
        for alarm in alarms
    )
    composites = len(list(of_type(templates, "AWS::CloudWatch::CompositeAlarm")))
    emitted = sum(
        len(metric.services) * numbers ** ("phone_number_id" in by) * (2 if "lane" in by else 1)
        for metric in METRICS.values()
        for by in metric.by
    )

    print(numbers, len(alarms), watched, composites, emitted)  # noqa: T201 - pytest -s
    assert 0.1 * watched + 0.5 * composites <= alarms_usd_max
    assert 0.3 * emitted <= metrics_usd_max
    for dashboard in dashboards_of(templates).values():
        assert len(dashboard["widgets"]) <= DASHBOARD_WIDGETS_MAX
        for widget in dashboard["widgets"]:
            assert len(widget["properties"].get("metrics", [])) <= METRICS_PER_WIDGET_MAX

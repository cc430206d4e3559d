"""What CloudFormation accepts in all stacks of a stage together, and production does not."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from infra.resources import Resource, Template, logical_id_of, of_type, properties
from infra.stage import Stage

FILTER_POLICIES_MAX: Final = 200
"""Of a topic, by default (https://docs.aws.amazon.com/sns/latest/dg/subscription-filter-policy-constraints.html)."""
FILTER_VALUES_MAX: Final = 150
"""Value combinations in one filter policy, same page."""
FILTER_KEYS_MAX: Final = 5
"""Keys in one filter policy, same page; nested ones count."""
UNRESERVED_CONCURRENCY_MIN: Final = 100
_QUEUE: Final = "AWS::SQS::Queue"
VISIBLE: Final = "ApproximateNumberOfMessagesVisible"


def templates_problems(templates: Sequence[Template], *, stage: Stage) -> Iterator[str]:
    """What all stacks together ask of the account, and of each other."""
    yield from concurrency_problems(templates, stage=stage)
    yield from filter_problems(templates)
    yield from unwatched_problems(templates)
    yield from throttle_problems(templates, stage=stage)


def concurrency_problems(templates: Sequence[Template], *, stage: Stage) -> Iterator[str]:
    """More reserved concurrency than the account has."""
    reserved = sum(
        function.get("ReservedConcurrentExecutions") or 0
        for function in _properties(templates, "AWS::Lambda::Function")
    )
    reservable = stage.account_concurrency - UNRESERVED_CONCURRENCY_MIN
    if reserved > reservable:
        yield f"{reserved} executions are reserved, the account can reserve {reservable}"


def filter_problems(templates: Sequence[Template]) -> Iterator[str]:
    """Filter policies that the topic would refuse, or that give a message to two queues."""
    policies = [
        subscription["FilterPolicy"]
        for subscription in _properties(templates, "AWS::SNS::Subscription")
        if "FilterPolicy" in subscription
    ]
    if len(policies) > FILTER_POLICIES_MAX:
        yield f"{len(policies)} filter policies on the topic, at most {FILTER_POLICIES_MAX}"
    keys = max((_keys(policy) for policy in policies), default=0)
    if keys > FILTER_KEYS_MAX:
        yield f"a filter policy has {keys} keys, at most {FILTER_KEYS_MAX}"
    values = max((_combinations(policy) for policy in policies), default=0)
    if values > FILTER_VALUES_MAX:
        yield f"a filter policy has {values} value combinations, at most {FILTER_VALUES_MAX}"
    for policy, count in Counter(json.dumps(one, sort_keys=True) for one in policies).items():
        if count > 1:
            yield f"{count} subscriptions take the same messages: {policy}"


def unwatched_problems(templates: Sequence[Template]) -> Iterator[str]:
    """Queues where messages end and no alarm looks, in whichever stack the alarm may stand."""
    watched = {name for template in templates for name in _watched(template)}
    for template in templates:
        for name in sorted(_ends(template) - watched):
            yield f"{name}: messages end there, and no alarm rings when one does"


def throttle_problems(templates: Sequence[Template], *, stage: Stage) -> Iterator[str]:
    """A webhook that lets in less than Meta brings when every number sends as fast as it may."""
    for api_stage in _properties(templates, "AWS::ApiGatewayV2::Stage"):
        settings = api_stage.get("DefaultRouteSettings", {})
        rate, burst = (
            settings.get("ThrottlingRateLimit", 0),
            settings.get("ThrottlingBurstLimit", 0),
        )
        if min(rate, burst) < stage.webhooks_per_second_max:
            yield (
                f"the webhook lets in {min(rate, burst)} requests a second, and may be brought "
                f"{stage.webhooks_per_second_max}"
            )


def _properties(templates: Sequence[Template], kind: str) -> Iterator[Resource]:
    return (found for template in templates for found in properties(template, kind))


def _ends(template: Template) -> set[str]:
    """The names of queues that a queue or a subscription leaves to what it could not deliver."""
    names = {logical_id: queue["QueueName"] for logical_id, queue in of_type(template, _QUEUE)}
    policies = [
        resource["RedrivePolicy"]
        for kind in (_QUEUE, "AWS::SNS::Subscription")
        for resource in properties(template, kind)
        if "RedrivePolicy" in resource
    ]
    ends = {logical_id_of(policy["deadLetterTargetArn"]) for policy in policies}
    return {name for logical_id, name in names.items() if logical_id in ends}


def _watched(template: Template) -> Iterator[str]:
    """The names of queues whose visible messages an alarm of this template looks at."""
    names = {logical_id: queue["QueueName"] for logical_id, queue in of_type(template, _QUEUE)}
    for metric in _metrics(template):
        if metric.get("MetricName") != VISIBLE:
            continue
        for dimension in metric.get("Dimensions", []):
            if dimension["Name"] == "QueueName":
                value = dimension["Value"]
                yield value if isinstance(value, str) else names[str(logical_id_of(value))]


def _metrics(template: Template) -> Iterator[Mapping[str, Any]]:
    for alarm in properties(template, "AWS::CloudWatch::Alarm"):
        yield alarm
        for query in alarm.get("Metrics", []):
            yield query.get("MetricStat", {}).get("Metric", {})


def _keys(policy: Mapping[str, Any]) -> int:
    return sum(
        sum(_keys(alternative) for alternative in values) if key == "$or" else 1
        for key, values in policy.items()
    )


def _combinations(policy: Mapping[str, Any]) -> int:
    """Products over the keys of a policy, summed over its alternatives, counted the severe way."""
    total = 1
    for key, values in policy.items():
        total *= (
            sum(_combinations(alternative) for alternative in values)
            if key == "$or"
            else sum(_count(value) for value in values)
        )
    return total


def _count(value: Any) -> int:
    if isinstance(value, Mapping) and isinstance(value.get("anything-but"), list):
        return len(value["anything-but"])
    return 1

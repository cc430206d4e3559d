"""What CloudFormation accepts and production does not, found in the templates themselves."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from infra.stage import Stage
from infra.stage_checks import stage_problems
from sluice import settings
from sluice.domain import limits
from sluice.domain.lanes import BULK, CONVERSATION
from sluice.domain.pace import one_second_sends_max
from sluice.domain.topup import chunk_deliveries_max

Template = Mapping[str, Any]
Resource = Mapping[str, Any]

RESOURCES_PER_STACK_MAX: Final = 500
FILTER_POLICIES_MAX: Final = 200
"""Of a topic, by default (https://docs.aws.amazon.com/sns/latest/dg/subscription-filter-policy-constraints.html)."""
FILTER_VALUES_MAX: Final = 150
"""Value combinations in one filter policy, same page."""
FILTER_KEYS_MAX: Final = 5
"""Keys in one filter policy, same page; nested ones count."""
UNRESERVED_CONCURRENCY_MIN: Final = 100


class InvalidDeploymentError(ValueError):
    """Templates that must not be deployed; the message lists every reason."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(["this stage must not be deployed:", *problems]))
        self.problems = problems


def validate(templates: Mapping[str, Template], *, stage: Stage, sizes: Iterable[str] = ()) -> None:
    """Raise ``InvalidDeploymentError`` unless everything holds in these templates of a stage.

    ``sizes`` is what is wrong with the code that they deploy.
    """
    problems = [*stage_problems(stage), *sizes]
    for name, template in templates.items():
        problems += [f"{name}: {problem}" for problem in stack_problems(template, stage=stage)]
    problems += account_problems(list(templates.values()), stage=stage)
    if problems:
        raise InvalidDeploymentError(problems)


def stack_problems(template: Template, *, stage: Stage) -> Iterator[str]:
    """What is wrong inside one stack."""
    resources: Mapping[str, Resource] = template["Resources"]
    if len(resources) > RESOURCES_PER_STACK_MAX:
        yield f"{len(resources)} resources, at most {RESOURCES_PER_STACK_MAX}"
    for mapping in _properties(resources, "AWS::Lambda::EventSourceMapping"):
        function = resources[mapping["FunctionName"]["Ref"]]["Properties"]
        queue = resources[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]
        yield from _mapping_problems(mapping, function=function, queue=queue)
        if settings.PHONE_NUMBER_ID in _variables(function):
            yield from _sender_problems(mapping, function=function)
    yield from rate_problems(template, stage=stage)


def account_problems(templates: list[Template], *, stage: Stage) -> Iterator[str]:
    """What all stacks together ask of the account."""
    reserved = sum(
        function.get("ReservedConcurrentExecutions") or 0
        for template in templates
        for function in _properties(template["Resources"], "AWS::Lambda::Function")
    )
    reservable = stage.account_concurrency - UNRESERVED_CONCURRENCY_MIN
    if reserved > reservable:
        yield f"{reserved} executions are reserved, the account can reserve {reservable}"
    policies = [
        subscription["FilterPolicy"]
        for template in templates
        for subscription in _properties(template["Resources"], "AWS::SNS::Subscription")
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


def _mapping_problems(mapping: Resource, *, function: Resource, queue: Resource) -> Iterator[str]:
    name = function["FunctionName"]
    maximum = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
    reserved = function.get("ReservedConcurrentExecutions")
    if maximum is None:
        yield f"{name}: its event source has no maximum concurrency"
    elif reserved is not None and reserved != maximum:
        yield f"{name}: reserved concurrency {reserved}, event source maximum {maximum}: {_WHY}"
    visibility_min = limits.VISIBILITY_FACTOR * function["Timeout"]
    if queue.get("VisibilityTimeout", 0) < visibility_min:
        yield f"{name}: the visibility timeout of its queue is under {visibility_min} s"
    if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
        yield f"{name}: one message that fails would bring its whole batch back"


_WHY: Final = "pollers would pull more than may run, and messages would die without having run"


def rate_problems(template: Template, *, stage: Stage) -> Iterator[str]:
    """Numbers whose slots together could put more into one second than their cap."""
    caps = {number.phone_number_id: number.messages_per_second for number in stage.numbers}
    own, lent = Counter[str](), Counter[str]()
    for function in _properties(template["Resources"], "AWS::Lambda::Function"):
        variables, slots = _variables(function), function.get("ReservedConcurrentExecutions")
        if settings.PHONE_NUMBER_ID not in variables or slots is None:
            continue
        number, lane = variables[settings.PHONE_NUMBER_ID], variables[settings.LANE]
        own[number] += slots * _in_a_second(variables[settings.SLOT_SENDS_PER_SECOND])
        if lane == BULK:
            lent[number] += slots * _in_a_second(variables[settings.SLOT_SENDS_PER_SECOND_LENT])
    for number, sends in sorted((own | lent).items()):
        cap = caps.get(number, 0)
        if sends > cap:
            yield f"number {number}: {sends} sends in a second are over its cap of {cap}"


def _in_a_second(sends_per_second: str) -> int:
    return one_second_sends_max(float(sends_per_second))


def _sender_problems(mapping: Resource, *, function: Resource) -> Iterator[str]:
    name, variables = function["FunctionName"], _variables(function)
    reserved = function.get("ReservedConcurrentExecutions")
    if reserved is None:
        yield f"{name}: without reserved concurrency nothing bounds its rate"
        return
    if variables[settings.SLOTS] != str(reserved):
        yield f"{name}: it is told {variables[settings.SLOTS]} slots and has {reserved}"
    rate = float(variables[settings.SLOT_SENDS_PER_SECOND_LENT])
    deliveries = chunk_deliveries_max(CONVERSATION if variables[settings.LANE] != BULK else BULK)
    batch_seconds = mapping["BatchSize"] * deliveries / rate
    spare_seconds = limits.HTTP_READ_TIMEOUT_SECONDS + limits.SEND_DEADLINE_MARGIN_SECONDS
    if batch_seconds + spare_seconds >= function["Timeout"]:
        yield f"{name}: a batch of {batch_seconds:.0f} s and its end do not fit the timeout"


def _properties(resources: Mapping[str, Resource], kind: str) -> Iterator[Resource]:
    return (
        resource.get("Properties", {})
        for resource in resources.values()
        if resource["Type"] == kind
    )


def _variables(function: Resource) -> Mapping[str, str]:
    variables: Mapping[str, str] = function.get("Environment", {}).get("Variables", {})
    return variables


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

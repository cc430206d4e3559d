"""What CloudFormation accepts in one stack, and production does not."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from infra.resources import Resource, Template, properties, referred, variables_of, worker_of
from infra.stage import Stage
from sluice import settings
from sluice.domain import limits
from sluice.domain.lanes import BULK, CONVERSATION
from sluice.domain.pace import one_second_sends_max
from sluice.domain.topup import chunk_deliveries_max

RESOURCES_PER_STACK_MAX: Final = 500
RATE_TOLERANCE: Final = 1e-4
"""Sends per second: rates are written with six digits, once for each slot."""
_WHY: Final = "pollers would pull more than may run, and messages would die without having run"


def stack_problems(template: Template, *, stage: Stage) -> Iterator[str]:
    """What is wrong inside one stack."""
    resources: Mapping[str, Resource] = template["Resources"]
    if len(resources) > RESOURCES_PER_STACK_MAX:
        yield f"{len(resources)} resources, at most {RESOURCES_PER_STACK_MAX}"
    for mapping in properties(template, "AWS::Lambda::EventSourceMapping"):
        function = worker_of(template, mapping)
        queue = referred(template, mapping["EventSourceArn"])
        yield from _mapping_problems(mapping, function=function, queue=queue)
        if settings.PHONE_NUMBER_ID in variables_of(function):
            yield from _sender_problems(mapping, function=function)
    yield from rate_problems(template, stage=stage)
    yield from export_problems(template)


def export_problems(template: Template) -> Iterator[str]:
    """Values that another stack imports: whatever is in use so can never change again."""
    for name, output in template.get("Outputs", {}).items():
        if "Export" in output:
            yield f"output {name} is exported: stacks tell each other by parameters"
    if "Fn::ImportValue" in repr(template):
        yield "something imports a value of another stack: stacks tell each other by parameters"


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
    if "RedrivePolicy" not in queue:
        yield f"{name}: its queue has no dead-letter queue: what fails would fail for ever"
    if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
        yield f"{name}: one message that fails would bring its whole batch back"


def rate_problems(template: Template, *, stage: Stage) -> Iterator[str]:
    """Numbers whose slots together do not make their rate, or could be over their cap."""
    numbers = {number.phone_number_id: number for number in stage.numbers}
    rates, own, lent = Counter[str](), Counter[str](), Counter[str]()
    for function in properties(template, "AWS::Lambda::Function"):
        variables, slots = variables_of(function), function.get("ReservedConcurrentExecutions")
        if settings.PHONE_NUMBER_ID not in variables or slots is None:
            continue
        name = variables[settings.PHONE_NUMBER_ID]
        rates[name] += slots * float(variables[settings.SLOT_SENDS_PER_SECOND])
        own[name] += slots * _in_a_second(variables[settings.SLOT_SENDS_PER_SECOND])
        if variables[settings.LANE] == BULK:
            lent[name] += slots * _in_a_second(variables[settings.SLOT_SENDS_PER_SECOND_LENT])
    for name, sends in sorted((own | lent).items()):
        number = numbers.get(name)
        cap, wanted = (number.messages_per_second, stage.send_rate(number)) if number else (0, 0.0)
        if sends > cap:
            yield f"number {name}: {sends} sends in a second are over its cap of {cap}"
        if abs(rates[name] - wanted) > RATE_TOLERANCE:
            yield f"number {name}: its slots make {rates[name]:g} sends a second, not {wanted:g}"


def _in_a_second(sends_per_second: str) -> int:
    return one_second_sends_max(float(sends_per_second))


def _sender_problems(mapping: Resource, *, function: Resource) -> Iterator[str]:
    name, variables = function["FunctionName"], variables_of(function)
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

"""Hold a stage: nothing works on its queues and nothing wakes by the clock, until it is released.

Webhooks are still answered, and whatever is published or comes from Meta waits in its queue.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Client = Callable[[str], Any]
"""``client("lambda")`` gives boto3's client of that service."""


@dataclass(frozen=True)
class Switched:
    """What was switched on or off, by the function that it drives."""

    event_sources: tuple[str, ...]
    rules: tuple[str, ...]


def hold(stage: str, *, client: Client) -> Switched:
    """Disable every event source and schedule of the stage; again, it changes nothing.

    What runs at the moment ends by itself, within the time limit of its function.
    """
    return _switch(stage, client=client, on=False)


def release(stage: str, *, client: Client) -> Switched:
    """Enable them again."""
    return _switch(stage, client=client, on=True)


def _switch(stage: str, *, client: Client, on: bool) -> Switched:
    functions, events = client("lambda"), client("events")
    sources, rules = [], []
    for mapping in _event_sources(functions, stage):
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=on)
        sources.append(_function(mapping["FunctionArn"]))
    for rule, arn in _rules(events, stage):
        (events.enable_rule if on else events.disable_rule)(Name=rule)
        rules.append(_function(arn))
    return Switched(tuple(sorted(sources)), tuple(sorted(rules)))


def _event_sources(functions: Any, stage: str) -> Iterator[dict[str, Any]]:
    for page in functions.get_paginator("list_event_source_mappings").paginate():
        for mapping in page["EventSourceMappings"]:
            if _function(mapping["FunctionArn"]).startswith(f"sluice-{stage}-"):
                yield mapping


def _rules(events: Any, stage: str) -> Iterator[tuple[str, str]]:
    # CloudFormation names rules after the stack.
    for page in events.get_paginator("list_rules").paginate(NamePrefix=f"SluiceShared-{stage}-"):
        for rule in page["Rules"]:
            for target in events.list_targets_by_rule(Rule=rule["Name"])["Targets"]:
                if _function(target["Arn"]).startswith(f"sluice-{stage}-"):
                    yield rule["Name"], target["Arn"]


def _function(arn: str) -> str:
    """The name in the ARN of a function, whichever of its versions it means."""
    return arn.partition(":function:")[2].partition(":")[0]

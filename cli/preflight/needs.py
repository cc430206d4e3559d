"""What a stage asks of its account, told from its file alone; a test holds it to the templates."""

from typing import Final

from infra.stage import Stage
from sluice.domain.lanes import LANES
from sluice.settings import FUNCTION_VARIABLES

UNRESERVED_CONCURRENCY_MIN: Final = 100
"""What AWS leaves unreserved. Source: AWS Lambda, reserved concurrency."""
RESERVED_BY_STEP: Final = {"dispatch": 2, "reconcile": 1, "redrive": 1, "restore": 1}
"""Beside the senders, which have their slots, and the webhook, which a stage sets."""
KINDS_WITH_A_QUEUE: Final = ("campaign", "command", "erase", "export", "schedule", "unrouted")
"""Each subscribes to the topic with a filter policy of its own; so does every lane of a number."""

assert set(RESERVED_BY_STEP) <= set(FUNCTION_VARIABLES)


def reserved_concurrency(stage: Stage) -> int:
    """Executions that are reserved."""
    senders = sum(number.slots(lane) for number in stage.numbers for lane in LANES)
    return senders + stage.webhook_concurrency + sum(RESERVED_BY_STEP.values())


def filter_policies(stage: Stage) -> int:
    """Filter policies on the topic of requests."""
    return len(KINDS_WITH_A_QUEUE) + len(LANES) * len(stage.numbers)

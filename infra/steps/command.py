"""``command``: obeys orders, publishes tests, and empties the parked queue when one says so."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.steps.dispatch import Dispatch
from sluice import settings
from sluice.domain.limits import COMMAND_TIMEOUT_SECONDS

CONCURRENCY = 5


class Command(Construct):
    """The function behind the queue of commands."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        foundation: Foundation,
        edges: Edges,
        dispatch: Dispatch,
    ) -> None:
        super().__init__(scope, construct_id)
        step = StepFunction(
            self,
            "Step",
            step="command",
            foundation=foundation,
            variables={
                settings.COMMAND_QUEUE_URL: edges.command.queue.queue_url,
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.DISPATCH_FUNCTION: dispatch.step.live_name,
                settings.TOPIC_ARN: edges.topic.topic_arn,
                settings.STATUSES_QUEUE_URL: edges.statuses.queue.queue_url,
                settings.SIGNALS_QUEUE_URL: edges.signals.queue.queue_url,
                settings.APPROVAL_ABOVE_RECIPIENTS: foundation.stage.approval_above_json,
            },
            timeout_seconds=COMMAND_TIMEOUT_SECONDS,
            memory_megabytes=512,
        )
        step.consume(edges.command.queue, batch_messages=1, concurrency=CONCURRENCY, defers=True)
        step.allow_send(edges.parked)
        step.allow(
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:ChangeMessageVisibility",
            on=[edges.parked.queue_arn],
        )
        # Where parked messages are returned to.
        step.allow_publish(edges.topic)
        step.allow_send(edges.statuses.queue, edges.signals.queue)
        dispatch.allow_wake(step)

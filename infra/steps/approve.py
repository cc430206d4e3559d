"""``approve``: takes what approvers decide."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.steps.dispatch import Dispatch
from sluice import settings
from sluice.domain.limits import APPROVE_TIMEOUT_SECONDS

CONCURRENCY = 2
"""The least that SQS can be told."""


class Approve(Construct):
    """The function behind the queue of approvals."""

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
            step="approve",
            foundation=foundation,
            variables={
                settings.APPROVALS_QUEUE_URL: edges.approvals.queue.queue_url,
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.DISPATCH_FUNCTION: dispatch.step.live_name,
            },
            timeout_seconds=APPROVE_TIMEOUT_SECONDS,
            memory_megabytes=512,
        )
        step.consume(edges.approvals.queue, batch_messages=1, concurrency=CONCURRENCY, defers=True)
        step.allow_send(edges.parked)
        dispatch.allow_wake(step)

"""``erase``: forgets people and campaigns, and every hour what is too old."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.schedules import every_hour
from sluice import settings
from sluice.domain.limits import ERASE_TIMEOUT_SECONDS

CONCURRENCY = 2
"""The least that SQS can be told: it reads and deletes beside whoever sends."""


class Erase(Construct):
    """The function behind the queue of erasures, which the clock starts too."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        days = foundation.stage.retention_days
        step = StepFunction(
            self,
            "Step",
            step="erase",
            foundation=foundation,
            variables={
                settings.ERASE_QUEUE_URL: edges.erase.queue.queue_url,
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.RETENTION_DAYS: "null" if days is None else str(days),
            },
            timeout_seconds=ERASE_TIMEOUT_SECONDS,
            memory_megabytes=512,
        )
        step.consume(edges.erase.queue, batch_messages=1, concurrency=CONCURRENCY, defers=True)
        step.allow_send(edges.parked)
        every_hour(self, function=step.live)

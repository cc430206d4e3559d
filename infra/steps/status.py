"""``status``: writes delivery statuses, in batches and only forward."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from sluice import settings
from sluice.domain.limits import (
    SQS_BATCH_ENTRIES_MAX,
    STATUS_BATCH_MESSAGES,
    STATUS_TIMEOUT_SECONDS,
)

CONCURRENCY = 16
"""Connections that it may hold; a FIFO queue also needs as many groups."""
STANDARD_WINDOW_SECONDS = 1
"""How long a standard queue gathers a batch."""


class Status(Construct):
    """The function behind the queue of statuses."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        step = StepFunction(
            self,
            "Step",
            step="status",
            foundation=foundation,
            variables={settings.PARKED_QUEUE_URL: edges.parked.queue_url},
            timeout_seconds=STATUS_TIMEOUT_SECONDS,
            memory_megabytes=512,
        )
        fifo = foundation.stage.statuses_queue == "fifo"
        step.consume(
            edges.statuses.queue,
            batch_messages=SQS_BATCH_ENTRIES_MAX if fifo else STATUS_BATCH_MESSAGES,
            concurrency=CONCURRENCY,
            window_seconds=None if fifo else STANDARD_WINDOW_SECONDS,
        )
        step.allow_send(edges.parked)

"""``signal``: opt-outs, replies, and what happens to templates, numbers and accounts."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from sluice import settings
from sluice.domain.limits import SIGNAL_TIMEOUT_SECONDS

CONCURRENCY = 4
BATCH_MESSAGES = 10


class Signal(Construct):
    """The function behind the queue of signals."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        step = StepFunction(
            self,
            "Step",
            step="signal",
            foundation=foundation,
            variables={
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.INBOUND_TOPIC_ARN: edges.inbound.topic_arn,
                settings.WORDS: foundation.stage.words,
            },
            timeout_seconds=SIGNAL_TIMEOUT_SECONDS,
            memory_megabytes=512,
        )
        step.consume(edges.signals.queue, batch_messages=BATCH_MESSAGES, concurrency=CONCURRENCY)
        step.allow_send(edges.parked)
        step.allow_publish(edges.inbound)

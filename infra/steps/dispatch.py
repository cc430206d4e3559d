"""``dispatch``: tops the queue of each number up, every minute and when woken."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.parameters import allow_parameters
from infra.schedules import every_minute
from sluice import settings
from sluice.domain.limits import DISPATCH_TIMEOUT_SECONDS

CONCURRENCY = 2
"""One that ticks, and the next that takes over from it."""


class Dispatch(Construct):
    """The function that publishes chunks to the topic."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        names = foundation.names
        self.step = StepFunction(
            self,
            "Step",
            step="dispatch",
            foundation=foundation,
            variables={
                settings.TOPIC_ARN: edges.topic.topic_arn,
                settings.NUMBERS_PATH: names.numbers_path,
            },
            timeout_seconds=DISPATCH_TIMEOUT_SECONDS,
            memory_megabytes=512,
            reserved_concurrency=CONCURRENCY,
        )
        self.step.allow_publish(edges.topic)
        allow_parameters(self.step, path=names.numbers_path)
        every_minute(self, function=self.step.live)

    def allow_wake(self, other: StepFunction) -> None:
        """Permission to invoke what works of dispatch, as its wakers do."""
        other.allow("lambda:InvokeFunction", on=[self.step.live.function_arn])

"""``report``: answers how everything stands, to whoever may invoke it."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from sluice import settings
from sluice.domain.limits import REPORT_TIMEOUT_SECONDS


class Report(Construct):
    """The function that the command line asks."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        self.step = StepFunction(
            self,
            "Step",
            step="report",
            foundation=foundation,
            variables={settings.PARKED_QUEUE_URL: edges.parked.queue_url},
            timeout_seconds=REPORT_TIMEOUT_SECONDS,
            memory_megabytes=512,
        )
        assert self.step.live, "people invoke it by this alias"
        # It looks, and takes nothing away.
        self.step.allow(
            "sqs:ReceiveMessage",
            "sqs:ChangeMessageVisibility",
            "sqs:GetQueueAttributes",
            on=[edges.parked.queue_arn],
        )

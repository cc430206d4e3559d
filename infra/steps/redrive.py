"""``redrive``: every minute, sends what failed back to its queue, slowly and spread."""

from aws_cdk import Stack
from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.names import DEAD_SUFFIX
from infra.parameters import allow_parameters
from infra.schedules import every_minute
from sluice import settings
from sluice.domain.limits import REDRIVE_TIMEOUT_SECONDS

READS = ("sqs:ReceiveMessage", "sqs:DeleteMessage")


class Redrive(Construct):
    """The one function that reads dead-letter queues, and no event source does."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        names = foundation.names
        step = StepFunction(
            self,
            "Step",
            step="redrive",
            foundation=foundation,
            variables={
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.ROUTES_PATH: names.routes_path,
            },
            timeout_seconds=REDRIVE_TIMEOUT_SECONDS,
            memory_megabytes=256,
            reserved_concurrency=1,
        )
        requests = (edges.campaign, edges.command, edges.erase, edges.export, edges.schedule)
        works = (*requests, edges.statuses, edges.signals)
        step.allow(*READS, on=[work.dead.queue_arn for work in works])
        step.allow_send(*(work.queue for work in works), edges.parked)
        # The queues of numbers stand in later stacks, so by name.
        step.allow(
            *READS,
            on=[_queues(self, names.of(names.send("*", "*"), DEAD_SUFFIX))],
        )
        step.allow("sqs:SendMessage", on=[_queues(self, names.of(names.send("*", "*")))])
        allow_parameters(step, path=names.routes_path)
        every_minute(self, function=step.live)


def _queues(scope: Construct, pattern: str) -> str:
    return Stack.of(scope).format_arn(service="sqs", resource=pattern)

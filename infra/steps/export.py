"""``export``: writes what is known of each recipient of a campaign."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation, layer_of
from infra.function import StepFunction
from sluice import settings
from sluice.domain.limits import EXPORT_DISK_MEGABYTES, EXPORT_TIMEOUT_SECONDS

CONCURRENCY = 2
"""The least that SQS can be told: exports read as much of the database as it lets them."""
MEMORY_MEGABYTES = 1769
"""One whole processor, which is what a part waits for: it needs a third of the memory.
Source: AWS, Lambda, configuring function memory."""


class Export(Construct):
    """The function behind the queue of exports, with a layer that no other needs."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        layer = layer_of(
            self,
            "ParquetLayer",
            foundation.code.parquet,
            foundation.runtime,
            foundation.architecture,
        )
        step = StepFunction(
            self,
            "Step",
            step="export",
            foundation=foundation,
            variables={
                settings.EXPORT_QUEUE_URL: edges.export.queue.queue_url,
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.EXPORTS_BUCKET: edges.exports.bucket_name,
            },
            timeout_seconds=EXPORT_TIMEOUT_SECONDS,
            memory_megabytes=MEMORY_MEGABYTES,
            disk_megabytes=EXPORT_DISK_MEGABYTES,
            layers=[layer],
        )
        step.consume(edges.export.queue, batch_messages=1, concurrency=CONCURRENCY, defers=True)
        step.allow_send(edges.parked)
        step.allow("s3:GetObject", "s3:PutObject", on=[edges.exports.arn_for_objects("*")])
        step.allow("s3:ListBucket", on=[edges.exports.bucket_arn])
        role = step.function.role
        assert role is not None, "a function of ours has a role of its own"
        self.role_arn = role.role_arn
        """Whom the policy of another bucket must let in, to have exports there."""

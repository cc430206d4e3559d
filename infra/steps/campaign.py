"""``campaign``: checks templates, uploads their media, loads audiences."""

from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.parameters import allow_parameters
from infra.steps.dispatch import Dispatch
from sluice import settings
from sluice.domain.limits import CAMPAIGN_TIMEOUT_SECONDS, EXPORT_PREFIX

CONCURRENCY = 5
"""So that a small campaign need not wait for a long load."""


class Campaign(Construct):
    """The function behind the campaign queue."""

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
            step="campaign",
            foundation=foundation,
            variables={
                settings.CAMPAIGN_QUEUE_URL: edges.campaign.queue.queue_url,
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.DISPATCH_FUNCTION: dispatch.step.live_name,
                settings.TOKEN_SECRET_ID: foundation.names.token_secret,
                settings.CLOUD_API_URL: foundation.stage.cloud_api_url,
                settings.TEMPLATE_CHECK: foundation.stage.template_check,
                settings.APPROVAL_ABOVE_RECIPIENTS: foundation.stage.approval_above_json,
                settings.NUMBERS_PATH: foundation.names.numbers_path,
            },
            timeout_seconds=CAMPAIGN_TIMEOUT_SECONDS,
            memory_megabytes=1024,
        )
        step.consume(edges.campaign.queue, batch_messages=1, concurrency=CONCURRENCY, defers=True)
        step.allow_send(edges.parked)
        step.allow("s3:GetObject", on=[edges.audiences.arn_for_objects("*")])
        exported = edges.audiences.arn_for_objects(f"{EXPORT_PREFIX}*")
        step.allow("s3:PutObject", "s3:AbortMultipartUpload", on=[exported])
        step.allow("s3:ListBucket", on=[edges.audiences.bucket_arn])
        step.allow_secret(edges.token)
        allow_parameters(step, path=foundation.names.numbers_path)
        dispatch.allow_wake(step)

"""``webhook``: what Meta calls. Verify, split, answer 200."""

from aws_cdk import Fn, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from sluice import settings
from sluice.domain.limits import WEBHOOK_TIMEOUT_SECONDS

PATH = "/webhook"
BURST_SECONDS = 2
"""How much of the rate may come at once."""


class Webhook(Construct):
    """An HTTP API with one route, and its function."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        step = StepFunction(
            self,
            "Step",
            step="webhook",
            foundation=foundation,
            variables={
                settings.STATUSES_QUEUE_URL: edges.statuses.queue.queue_url,
                settings.SIGNALS_QUEUE_URL: edges.signals.queue.queue_url,
                settings.WEBHOOK_SECRET_ID: foundation.names.webhook_secret,
            },
            timeout_seconds=WEBHOOK_TIMEOUT_SECONDS,
            memory_megabytes=512,
            reserved_concurrency=foundation.stage.webhook_concurrency,
        )
        edges.statuses.queue.grant_send_messages(step.function)
        edges.signals.queue.grant_send_messages(step.function)
        edges.webhook_secret.grant_read(step.function)
        self.api = apigateway.HttpApi(
            self, "Api", api_name=foundation.names.of("webhook"), create_default_stage=False
        )
        self.api.add_routes(
            path=PATH,
            methods=[apigateway.HttpMethod.GET, apigateway.HttpMethod.POST],
            integration=integrations.HttpLambdaIntegration("Step", step.function),
        )
        self._open(foundation)
        self.url = Fn.join(
            "",
            [
                "https://",
                self.api.api_id,
                ".execute-api.",
                Stack.of(self).region,
                ".",
                Stack.of(self).url_suffix,
                PATH,
            ],
        )

    def _open(self, foundation: Foundation) -> None:
        requests_per_second = foundation.stage.webhook_rate
        apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(
                rate_limit=requests_per_second, burst_limit=requests_per_second * BURST_SECONDS
            ),
        )

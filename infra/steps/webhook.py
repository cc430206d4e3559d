"""``webhook``: what Meta calls. Verify, split, answer 200."""

from aws_cdk import Fn, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
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
    """The function, and the entry by which Meta reaches it."""

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
        step.allow_send(edges.statuses.queue, edges.signals.queue)
        step.allow_secret(edges.webhook_secret)
        self.answers = (
            self._function_url(step)
            if foundation.stage.webhook_entry == "function_url"
            else self._http_api(step, foundation)
        )
        """What the stack tells of the entry: ``WebhookUrl``, and of an API its id."""

    def _function_url(self, step: StepFunction) -> dict[str, str]:
        # Meta signs each request, and cannot sign as AWS's own callers do.
        url = step.live.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
        return {"WebhookUrl": url.url}

    def _http_api(self, step: StepFunction, foundation: Foundation) -> dict[str, str]:
        api = apigateway.HttpApi(
            self, "Api", api_name=foundation.names.of("webhook"), create_default_stage=False
        )
        api.add_routes(
            path=PATH,
            methods=[apigateway.HttpMethod.GET, apigateway.HttpMethod.POST],
            integration=integrations.HttpLambdaIntegration("Step", step.live),
        )
        requests_per_second = foundation.stage.webhook_rate
        apigateway.HttpStage(
            self,
            "Stage",
            http_api=api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(
                rate_limit=requests_per_second, burst_limit=requests_per_second * BURST_SECONDS
            ),
        )
        # By it the stack that watches finds the metrics of the API.
        ssm.StringParameter(
            self,
            "ApiId",
            parameter_name=foundation.names.webhook_api,
            string_value=api.api_id,
        )
        stack = Stack.of(self)
        host = [api.api_id, "execute-api", stack.region, stack.url_suffix]
        url = Fn.join("", ["https://", Fn.join(".", host), PATH])
        return {"WebhookApiId": api.api_id, "WebhookUrl": url}

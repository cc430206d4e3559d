"""One function of one step, told exactly the variables that its step reads."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from aws_cdk import Duration, RemovalPolicy, Size
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.bundling import EXCLUDED
from infra.foundation import Foundation
from infra.names import Names
from infra.role import OwnRole
from sluice import metrics
from sluice.settings import DATABASE_URL, FUNCTION_VARIABLES

LIVE: Final = "live"
"""The alias that everything invokes: what it names is what works."""
LAMBDA_POLLS = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
"""What Lambda does with a queue, in the function's name.
Source: AWS, Lambda, using Lambda with SQS, execution role permissions."""


class StepFunction(Construct):
    """A Lambda function with its log group, its role and, if it reads rows, its network."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        step: str,
        foundation: Foundation,
        variables: Mapping[str, str],
        timeout_seconds: int,
        memory_megabytes: int,
        name: str | None = None,
        reserved_concurrency: int | None = None,
        disk_megabytes: int | None = None,
        layers: Sequence[lambda_.ILayerVersion] = (),
    ) -> None:
        """``name`` tells functions of the same step apart; it is the step's where one is enough.

        ``layers`` are its own, beside those that every function has.
        """
        super().__init__(scope, construct_id)
        self.name = foundation.names.of(name or step)
        reads_rows = DATABASE_URL in FUNCTION_VARIABLES[step]
        database = foundation.database
        told = {**(database.variables if reads_rows else {}), **variables}
        assert set(told) == set(FUNCTION_VARIABLES[step]), f"{step} is told {sorted(told)}"
        in_vpc = database.vpc is not None and reads_rows
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=self.name,
            role=OwnRole(self, "ServiceRole", in_vpc=in_vpc),
            runtime=foundation.runtime,
            architecture=foundation.architecture,
            code=lambda_.Code.from_asset(str(foundation.code.functions[step]), exclude=EXCLUDED),
            handler="handler.lambda_handler",
            layers=[*foundation.layers, *layers],
            environment={
                **told,
                **_powertools(step, foundation.names),
                **(database.endpoints if in_vpc else {}),
            },
            # No SDK of X-Ray in our code: what Lambda itself sees is traced.
            tracing=lambda_.Tracing.ACTIVE if foundation.stage.features.xray else None,
            timeout=Duration.seconds(timeout_seconds),
            memory_size=memory_megabytes,
            ephemeral_storage_size=Size.mebibytes(disk_megabytes) if disk_megabytes else None,
            reserved_concurrent_executions=reserved_concurrency,
            # What a rollback goes back to.
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN),
            log_group=_logs(self, name=name or step, foundation=foundation),
            vpc=database.vpc if in_vpc else None,
            ipv6_allowed_for_dual_stack=(in_vpc and foundation.stage.egress == "ipv6") or None,
            security_groups=list(database.security_groups) if in_vpc else None,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
            if in_vpc
            else None,
        )
        if reads_rows and database.connect is not None:
            self.function.add_to_role_policy(database.connect)

    @cached_property
    def live(self) -> lambda_.Alias:
        """The version of the function that works; ``sluice rollback`` gives it an earlier one.

        Its executions count in the function's reserved concurrency, whichever version they run: so
        while a deployment changes it the slots of a sender stay as many as they are.
        """
        return lambda_.Alias(self, "Live", alias_name=LIVE, version=self.function.current_version)

    @property
    def live_name(self) -> str:
        """The name of the function, and of what works of it."""
        return f"{self.name}:{LIVE}"

    def allow(self, *actions: str, on: Sequence[str]) -> None:
        """Permission for these actions on these resources, and no others.

        The CDK's own grants give more than our functions use.
        """
        statement = iam.PolicyStatement(actions=list(actions), resources=list(on))
        self.function.add_to_role_policy(statement)

    def allow_send(self, *queues: sqs.IQueue) -> None:
        """Permission to put messages into these queues."""
        self.allow("sqs:SendMessage", on=[queue.queue_arn for queue in queues])

    def allow_publish(self, topic: sns.ITopic) -> None:
        """Permission to publish to a topic."""
        self.allow("sns:Publish", on=[topic.topic_arn])

    def allow_secret(self, secret: secretsmanager.ISecret) -> None:
        """Permission to read a secret; of one known by name, whatever AWS added to its ARN."""
        arn = secret.secret_full_arn or f"{secret.secret_arn}-??????"
        self.allow("secretsmanager:GetSecretValue", on=[arn])

    def consume(
        self,
        queue: sqs.IQueue,
        *,
        batch_messages: int,
        concurrency: int,
        window_seconds: int | None = None,
        defers: bool = False,
    ) -> None:
        """Make the queue its event source; only messages that it names as failed come back.

        ``defers``: the function tells how long a message is to wait before it comes back.
        """
        self.live.add_event_source_mapping(
            "Source",
            event_source_arn=queue.queue_arn,
            batch_size=batch_messages,
            max_batching_window=Duration.seconds(window_seconds) if window_seconds else None,
            max_concurrency=concurrency,
            report_batch_item_failures=True,
        )
        deferring = ("sqs:ChangeMessageVisibility",) if defers else ()
        self.allow(*LAMBDA_POLLS, *deferring, on=[queue.queue_arn])


def _logs(scope: Construct, *, name: str, foundation: Foundation) -> logs.LogGroup:
    group = logs.LogGroup(
        scope,
        "Logs",
        log_group_name=foundation.names.path(name),
        removal_policy=RemovalPolicy.DESTROY,
    )
    resource = group.node.default_child
    assert isinstance(resource, logs.CfnLogGroup)
    # The level-two construct has words for days, and we have days.
    resource.retention_in_days = foundation.stage.log_retention_days
    return group


def _powertools(step: str, names: Names) -> dict[str, str]:
    return {
        "POWERTOOLS_SERVICE_NAME": step,
        "POWERTOOLS_METRICS_NAMESPACE": metrics.namespace_of(names.stage),
        "POWERTOOLS_LOG_LEVEL": "INFO",
    }

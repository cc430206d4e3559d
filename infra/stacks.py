"""The stacks, in the order in which they are deployed."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Annotations, App, CfnOutput, Environment, Stack
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.bundling import CORE, Code
from infra.database import Cluster
from infra.edges import Edges
from infra.endpoints import endpoint_variables
from infra.foundation import (
    Database,
    Foundation,
    aurora_variables,
    connect_statement,
    database_of,
    lay_foundation,
    named_topic,
)
from infra.names import UNDELIVERED_SUFFIX, Names
from infra.network import Network
from infra.observability.stacks import watch
from infra.queues import KeptQueue, one_policy
from infra.stage import Stage
from infra.stage_parts import AuroraDatabase, Number
from infra.steps.approve import Approve
from infra.steps.campaign import Campaign
from infra.steps.command import Command
from infra.steps.dispatch import Dispatch
from infra.steps.erase import Erase
from infra.steps.export import Export
from infra.steps.migrate import Migrate
from infra.steps.reconcile import Reconcile
from infra.steps.redrive import Redrive
from infra.steps.report import Report
from infra.steps.restore import Restore
from infra.steps.schedule import Schedule
from infra.steps.send import Send
from infra.steps.signal import Signal
from infra.steps.status import Status
from infra.steps.webhook import Webhook

CERTIFICATES = CORE / "certificates" / "rds-global-bundle.pem"


class SluiceData(Stack):
    """The network, the cluster and its schema: what must outlive everything else."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: Stage, code: Code, **stack: Any
    ) -> None:
        assert isinstance(stage.database, AuroraDatabase)
        protected = stage.database.deletion_protection
        super().__init__(scope, construct_id, termination_protection=protected, **stack)
        if not CERTIFICATES.exists():
            Annotations.of(self).add_warning_v2(
                "sluice:certificates",
                f"{CERTIFICATES.name} is missing, so no function will reach the database: "
                "see layers/core/certificates/README.md",
            )
        network = Network(self, "Network", stage=stage)
        database = Cluster(self, "Database", config=stage.database, network=network)
        cluster = database.cluster
        foundation = lay_foundation(
            self,
            stage=stage,
            code=code,
            database=Database(
                variables=aurora_variables(cluster.cluster_endpoint.hostname),
                vpc=network.vpc,
                security_groups=(network.clients,),
                connect=connect_statement(self, cluster.cluster_resource_identifier),
                endpoints=endpoint_variables(stage.egress, region=stage.region),
            ),
        )
        Migrate(self, "Migrate", foundation=foundation, after=[cluster, database.user])
        self._tell(
            foundation.names,
            {
                "host": cluster.cluster_endpoint.hostname,
                "cluster": cluster.cluster_identifier,
                "resource-id": cluster.cluster_resource_identifier,
                "security-group": network.clients.security_group_id,
                **{
                    f"subnet-{zone}": subnet.subnet_id
                    for zone, subnet in enumerate(network.vpc.private_subnets)
                },
            },
        )

    def _tell(self, names: Names, facts: Mapping[str, str]) -> None:
        for what, value in facts.items():
            ssm.StringParameter(
                self,
                f"Fact-{what}",
                parameter_name=names.database(what),
                string_value=value,
            )


class SluiceShared(Stack):
    """Everything but the senders, in the order of the flow."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: Stage, code: Code, **stack: Any
    ) -> None:
        super().__init__(scope, construct_id, **stack)
        foundation = lay_foundation(
            self,
            stage=stage,
            code=code,
            database=database_of(self, stage=stage),
        )
        edges = Edges(self, "Edges", foundation=foundation)
        dispatch = Dispatch(self, "Dispatch", foundation=foundation, edges=edges)
        Campaign(self, "Campaign", foundation=foundation, edges=edges, dispatch=dispatch)
        Command(self, "Command", foundation=foundation, edges=edges, dispatch=dispatch)
        Approve(self, "Approve", foundation=foundation, edges=edges, dispatch=dispatch)
        Erase(self, "Erase", foundation=foundation, edges=edges)
        export = Export(self, "Export", foundation=foundation, edges=edges)
        Schedule(self, "Schedule", foundation=foundation, edges=edges)
        Redrive(self, "Redrive", foundation=foundation, edges=edges)
        webhook = Webhook(self, "Webhook", foundation=foundation, edges=edges)
        Status(self, "Status", foundation=foundation, edges=edges)
        Signal(self, "Signal", foundation=foundation, edges=edges)
        Reconcile(self, "Reconcile", foundation=foundation, dispatch=dispatch)
        Restore(self, "Restore", foundation=foundation)
        report = Report(self, "Report", foundation=foundation, edges=edges)
        self._answer(
            TopicArn=edges.topic.topic_arn,
            InboundTopicArn=edges.inbound.topic_arn,
            AudienceBucket=edges.audiences.bucket_name,
            ExportBucket=edges.exports.bucket_name,
            ExportRoleArn=export.role_arn,
            ApprovalsQueueUrl=edges.approvals.queue.queue_url,
            **webhook.answers,
            ReportFunction=report.step.live_name,
            TokenSecretId=foundation.names.token_secret,
            WebhookSecretId=foundation.names.webhook_secret,
        )

    def _answer(self, **outputs: str) -> None:
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)


class SluiceNumbers(Stack):
    """The senders of one bucket of numbers."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        code: Code,
        numbers: tuple[Number, ...],
        **stack: Any,
    ) -> None:
        super().__init__(scope, construct_id, **stack)
        names = Names(stage.stage)
        foundation = lay_foundation(
            self,
            stage=stage,
            code=code,
            database=database_of(self, stage=stage),
        )
        topic = named_topic(self, name=names.topic)
        parked_arn = self.format_arn(service="sqs", resource=names.of("parked"))
        parked = sqs.Queue.from_queue_arn(self, "Parked", parked_arn)
        token = secretsmanager.Secret.from_secret_name_v2(self, "Token", names.token_secret)
        undelivered = self._undelivered(foundation, topic=topic, bucket=numbers[0].bucket)
        sends = [
            # Never an index: a number that moves in the list must keep its queue.
            Send(
                self,
                f"Number{number.phone_number_id}",
                number=number,
                foundation=foundation,
                topic=topic,
                undelivered=undelivered,
                parked=parked,
                token=token,
            )
            for number in numbers
        ]
        dead = [work.dead for send in sends for work in send.works]
        one_policy(self, "DeadPolicy", queues=dead)

    def _undelivered(self, foundation: Foundation, *, topic: sns.ITopic, bucket: int) -> sqs.Queue:
        """What the topic could not deliver to a number of this stack; its attributes say which."""
        name = f"numbers-{bucket}-{UNDELIVERED_SUFFIX}"
        queue = KeptQueue(
            self,
            "Undelivered",
            name=name,
            foundation=foundation,
            alone=False,
        ).queue
        one_policy(self, "UndeliveredPolicy", queues=[queue], delivers=topic)
        return queue


def add_stacks(app: App, *, stage: Stage, code: Code, account: str | None) -> list[Stack]:
    """Every stack of a stage, in deployment order."""
    where = Environment(account=account, region=stage.region)

    def common(name: str) -> dict[str, Any]:
        return {"env": where, "stack_name": f"{name}-{stage.stage}", "stage": stage, "code": code}

    stacks: list[Stack] = []
    shared = SluiceShared(app, "SluiceShared", **common("SluiceShared"))
    if isinstance(stage.database, AuroraDatabase):
        data = SluiceData(app, "SluiceData", **common("SluiceData"))
        shared.add_stack_dependency(data)
        stacks.append(data)
    stacks.append(shared)
    buckets: dict[int, Stack] = {}
    for bucket in stage.buckets:
        name = f"SluiceNumbers{bucket}"
        held = tuple(number for number in stage.numbers if number.bucket == bucket)
        numbers = SluiceNumbers(app, name, numbers=held, **common(name))
        numbers.add_stack_dependency(shared)
        buckets[bucket] = numbers
    watching = watch(app, stage=stage, where=where, shared=stacks, buckets=buckets)
    return [*stacks, *buckets.values(), *watching]

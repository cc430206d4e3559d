"""The stacks that watch: nothing depends on them, and the local AWS does without them.

Their names begin with ``WATCHING``; by that the local deployment leaves them out, because the local
AWS knows neither composite alarms, nor alarms on what is made of metrics, nor saved queries.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import App, Environment, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.foundation import named_topic
from infra.names import Names
from infra.observability.alarms import Alarms
from infra.observability.dashboards import Dashboards
from infra.observability.inventory import Inventory
from infra.observability.questions import Questions
from infra.observability.rows import Watched
from infra.observability.series import Place
from infra.stage import Stage
from infra.stage_parts import AuroraDatabase, Number
from sluice import metrics

WATCHING: Final = "SluiceObservability"
"""What the names of these stacks begin with."""


class AlarmTopic(Construct):
    """Where alarms go. CloudWatch cannot publish under the key that AWS manages, so it has one."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, names: Names) -> None:
        super().__init__(scope, construct_id)
        key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=RemovalPolicy.DESTROY)
        cloudwatch_service = iam.ServicePrincipal("cloudwatch.amazonaws.com")
        key.grant_encrypt_decrypt(cloudwatch_service)
        self.topic = sns.Topic(
            self, "Topic", topic_name=names.alarms, master_key=key, enforce_ssl=True
        )
        self.topic.grant_publish(cloudwatch_service)
        for address in stage.alarm_emails:
            self.topic.add_subscription(subscriptions.EmailSubscription(address))


class SluiceObservability(Stack):
    """The topic of alarms, the alarms of what all numbers share, questions, and the dashboards."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        inventory: Inventory,
        senders: Inventory,
        **stack: Any,
    ) -> None:
        super().__init__(scope, construct_id, **stack)
        names = Names(stage.stage)
        watched = Watched(
            stage=stage, names=names, place=_place(self, stage=stage), inventory=inventory
        )
        topic = AlarmTopic(self, "AlarmTopic", stage=stage, names=names).topic
        alarms = Alarms(self, "Alarms", watched=watched, topic=topic, scope_name="")
        Questions(self, "Questions", watched=watched)
        Dashboards(self, "Dashboards", watched=watched, senders=senders, alarms=alarms.telling)


class SluiceObservabilityNumbers(Stack):
    """The alarms of one bucket of numbers, and questions to the log of their senders."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        inventory: Inventory,
        numbers: Sequence[Number],
        bucket: int,
        **stack: Any,
    ) -> None:
        super().__init__(scope, construct_id, **stack)
        names = Names(stage.stage)
        watched = Watched(
            stage=stage,
            names=names,
            place=Place(namespace=metrics.namespace_of(stage.stage)),
            inventory=inventory,
            numbers=tuple(numbers),
        )
        topic = named_topic(self, name=names.alarms)
        name = f"bucket-{bucket}"
        Alarms(self, "Alarms", watched=watched, topic=topic, scope_name=name)
        Questions(self, "Questions", watched=watched, folder=(name,))


def _place(stack: Stack, *, stage: Stage) -> Place:
    names = Names(stage.stage)

    def fact(parameter: str) -> str:
        return ssm.StringParameter.value_for_string_parameter(stack, parameter)

    own_database = isinstance(stage.database, AuroraDatabase)
    return Place(
        namespace=metrics.namespace_of(stage.stage),
        api_id=fact(names.webhook_api) if stage.webhook_entry == "http_api" else "",
        webhook=names.of("webhook"),
        cluster=fact(names.database("cluster")) if own_database else "",
    )


def watch(
    app: App,
    *,
    stage: Stage,
    where: Environment,
    shared: Sequence[Stack],
    buckets: Mapping[int, Stack],
) -> list[Stack]:
    """The stacks that watch the others, in deployment order."""

    def common(name: str) -> dict[str, Any]:
        return {"env": where, "stack_name": f"{name}-{stage.stage}", "stage": stage}

    first = SluiceObservability(
        app,
        WATCHING,
        inventory=Inventory.of(shared),
        senders=Inventory.of(buckets.values()),
        **common(WATCHING),
    )
    for stack in shared:
        first.add_stack_dependency(stack)
    stacks: list[Stack] = [first]
    for bucket, watched in buckets.items():
        name = f"{WATCHING}Numbers{bucket}"
        held = tuple(number for number in stage.numbers if number.bucket == bucket)
        numbers = SluiceObservabilityNumbers(
            app,
            name,
            inventory=Inventory.of([watched]),
            numbers=held,
            bucket=bucket,
            **common(name),
        )
        # The topic of alarms, and the alarm that silences these.
        numbers.add_stack_dependency(first)
        numbers.add_stack_dependency(watched)
        stacks.append(numbers)
    return stacks

"""Queues: encrypted, TLS only, each with a dead-letter queue."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.foundation import Foundation
from infra.names import DEAD_SUFFIX, UNDELIVERED_SUFFIX
from sluice.domain.limits import FIFO_RECEIVES_MAX, SQS_RECEIVES_MAX, VISIBILITY_FACTOR

RETENTION: Final = Duration.days(4)
RETENTION_LONGEST: Final = Duration.days(14)
"""What SQS keeps at most. A standard dead-letter queue counts from the first enqueueing."""


class WorkQueue(Construct):
    """A queue that a function works on, its dead-letter queue, and the route between them."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        route: str,
        foundation: Foundation,
        timeout_seconds: int,
        redriven_per_second: float | None,
        fifo: bool = False,
        retention: Duration = RETENTION,
        alone: bool = True,
    ) -> None:
        """``timeout_seconds`` is its function's; ``redriven_per_second`` are messages, at most.

        None: nothing redrives it, and a person deals with what is dead. Not ``alone``: whoever
        makes it gives it a policy (``one_policy``) and a route (``describe_routes``) that it has
        in common with others.
        """
        super().__init__(scope, construct_id)
        self._route, self._redriven_per_second, self._fifo = route, redriven_per_second, fifo
        self.dead = _queue(
            self,
            "Dead",
            name=foundation.names.of(route, DEAD_SUFFIX),
            fifo=fifo,
            retention=RETENTION_LONGEST,
            own_policy=alone,
        )
        self.queue = _queue(
            self,
            "Queue",
            name=foundation.names.of(route),
            fifo=fifo,
            retention=retention,
            own_policy=alone,
            visibility=Duration.seconds(VISIBILITY_FACTOR * timeout_seconds),
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead, max_receive_count=FIFO_RECEIVES_MAX if fifo else SQS_RECEIVES_MAX
            ),
        )
        if alone and redriven_per_second is not None:
            describe_routes(self, name=route, works=[self], foundation=foundation)

    @property
    def facts(self) -> dict[str, dict[str, Any]]:
        """What redrive must know, by the name of the route."""
        facts = {
            "queue_url": self.queue.queue_url,
            "dead_letter_queue_url": self.dead.queue_url,
            "messages_per_second": self._redriven_per_second,
            "fifo": self._fifo,
        }
        return {self._route: facts}


def describe_routes(
    scope: Construct, *, name: str, works: Sequence[WorkQueue], foundation: Foundation
) -> None:
    """Tell redrive of these queues, in one parameter."""
    facts = {route: values for work in works for route, values in work.facts.items()}
    ssm.StringParameter(
        scope,
        "Route",
        parameter_name=f"{foundation.names.routes_path}/{name}",
        string_value=Stack.of(scope).to_json_string(facts),
    )


def one_policy(
    scope: Construct,
    construct_id: str,
    *,
    queues: Sequence[sqs.Queue],
    delivers: sns.ITopic | None = None,
) -> sqs.CfnQueuePolicy:
    """TLS only for all of these queues, and what the topic ``delivers`` to each.

    A policy of a queue is about that queue, so ``*`` is each of them, and no other: AWS wants no
    statement that names another queue than the one that it stands on.
    """
    statements = [
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["sqs:*"],
            principals=[iam.AnyPrincipal()],
            resources=["*"],
            conditions={"Bool": {"aws:SecureTransport": "false"}},
        )
    ]
    if delivers is not None:
        statements.append(
            iam.PolicyStatement(
                actions=["sqs:SendMessage"],
                principals=[iam.ServicePrincipal("sns.amazonaws.com")],
                resources=["*"],
                conditions={"ArnEquals": {"aws:SourceArn": delivers.topic_arn}},
            )
        )
    return sqs.CfnQueuePolicy(
        scope,
        construct_id,
        queues=[queue.queue_url for queue in queues],
        policy_document=iam.PolicyDocument(statements=statements),
    )


class KeptQueue(Construct):
    """A queue that people read: an alarm rings while something lies in it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        foundation: Foundation,
        removal_policy: RemovalPolicy = RemovalPolicy.DESTROY,
        alone: bool = True,
    ) -> None:
        """Not ``alone``: whoever makes it gives it a policy (``one_policy``)."""
        super().__init__(scope, construct_id)
        self.queue = _queue(
            self,
            "Queue",
            name=foundation.names.of(name),
            fifo=False,
            retention=RETENTION_LONGEST,
            own_policy=alone,
            removal_policy=removal_policy,
        )


def subscribe(
    scope: Construct,
    *,
    topic: sns.ITopic,
    queue: sqs.Queue,
    name: str,
    foundation: Foundation,
    filter_policy: Mapping[str, Sequence[Any]],
    raw: bool = True,
) -> None:
    """Delivery of what matches, with a queue for what the topic could not deliver.

    Not ``raw``: in the envelope, which has the id that SNS gave the message.
    """
    undelivered = KeptQueue(
        scope,
        "Undelivered",
        name=f"{name}-{UNDELIVERED_SUFFIX}",
        foundation=foundation,
    )
    subscription = topic.add_subscription(
        subscriptions.SqsSubscription(
            queue, raw_message_delivery=raw, dead_letter_queue=undelivered.queue
        )
    )
    resource = subscription.node.default_child
    assert isinstance(resource, sns.CfnSubscription)
    # The level-two construct knows no $or.
    resource.filter_policy = filter_policy


def _queue(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    fifo: bool,
    retention: Duration,
    own_policy: bool,
    visibility: Duration | None = None,
    dead_letter_queue: sqs.DeadLetterQueue | None = None,
    removal_policy: RemovalPolicy = RemovalPolicy.DESTROY,
) -> sqs.Queue:
    # Postgres is the truth and queues are throw-away, so most go with their stack.
    return sqs.Queue(
        scope,
        construct_id,
        queue_name=f"{name}.fifo" if fifo else name,
        fifo=fifo or None,
        # High throughput: 300 calls a second for each group, not for the queue.
        deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP if fifo else None,
        fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID if fifo else None,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=own_policy,
        retention_period=retention,
        visibility_timeout=visibility,
        dead_letter_queue=dead_letter_queue,
        removal_policy=removal_policy,
    )

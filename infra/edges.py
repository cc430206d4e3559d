"""The edges between the steps, before any step: topics, queues, secrets, the buckets."""

from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.approvals import Approvals
from infra.foundation import Foundation
from infra.names import PARKED, UNROUTED
from infra.queues import KeptQueue, WorkQueue, subscribe
from infra.traces import trace_topics
from sluice.domain import limits
from sluice.domain.lanes import LANES, Lane

STATUS_REDRIVES_PER_SECOND: Final = 10.0
SIGNAL_REDRIVES_PER_SECOND: Final = 5.0
REQUEST_REDRIVES_PER_SECOND: Final = 1.0
AUDIENCE_DAYS: Final = 30
EXPORT_DAYS: Final = 30


def send_filter(phone_number_id: str, lane: Lane) -> dict[str, list[Any]]:
    """What the queue of one number's lane takes from the topic."""
    return {"kind": ["send"], "phone_number_id": [phone_number_id], "lane": [lane]}


KINDS: Final = frozenset({
    "audience", "campaign", "command", "erase", "export", "schedule", "send", "suppressions",
})  # fmt: skip
CAMPAIGN_FILTER: Final[dict[str, list[Any]]] = {"kind": ["audience", "campaign", "suppressions"]}
COMMAND_FILTER: Final[dict[str, list[Any]]] = {"kind": ["command"]}
ERASE_FILTER: Final[dict[str, list[Any]]] = {"kind": ["erase"]}
EXPORT_FILTER: Final[dict[str, list[Any]]] = {"kind": ["export"]}
SCHEDULE_FILTER: Final[dict[str, list[Any]]] = {"kind": ["schedule"]}


def unrouted_filter(phone_number_ids: list[str]) -> dict[str, list[Any]]:
    """Everything that no other queue takes.

    Five keys, however they are counted, because AWS allows no more in one policy.
    """
    absent = {"exists": False}
    return {
        "$or": [
            {"kind": [absent, {"anything-but": sorted(KINDS)}]},
            {"kind": ["send"], "phone_number_id": [absent, {"anything-but": phone_number_ids}]},
            {"kind": ["send"], "lane": [absent, {"anything-but": list(LANES)}]},
        ]
    }


class Edges(Construct):
    """Everything that two steps share."""

    def __init__(self, scope: Construct, construct_id: str, *, foundation: Foundation) -> None:
        super().__init__(scope, construct_id)
        self.topic = _topic(
            self, "CampaignRequests", "TopicKey", name=foundation.names.topic, foundation=foundation
        )
        self.inbound = _topic(
            self,
            "InboundMessages",
            "InboundKey",
            name=foundation.names.inbound,
            foundation=foundation,
        )
        if foundation.stage.features.xray:
            trace_topics(self, "TopicTraces", topics=[self.topic, self.inbound])
        self.campaign = self._work(
            "Campaign", foundation, CAMPAIGN_FILTER, limits.CAMPAIGN_TIMEOUT_SECONDS
        )
        self.command = self._work(
            "Command", foundation, COMMAND_FILTER, limits.COMMAND_TIMEOUT_SECONDS
        )
        self.erase = self._work("Erase", foundation, ERASE_FILTER, limits.ERASE_TIMEOUT_SECONDS)
        self.export = self._work("Export", foundation, EXPORT_FILTER, limits.EXPORT_TIMEOUT_SECONDS)
        self.schedule = self._work(
            "Schedule", foundation, SCHEDULE_FILTER, limits.SCHEDULE_TIMEOUT_SECONDS
        )
        self.approvals = self._approvals(foundation)
        self._keep_unrouted(foundation)
        self.parked = self._parked(foundation)
        self.statuses = WorkQueue(
            self,
            "Statuses",
            route="statuses",
            foundation=foundation,
            timeout_seconds=limits.STATUS_TIMEOUT_SECONDS,
            redriven_per_second=STATUS_REDRIVES_PER_SECOND,
            fifo=foundation.stage.statuses_queue == "fifo",
        )
        self.signals = WorkQueue(
            self,
            "Signals",
            route="signals",
            foundation=foundation,
            timeout_seconds=limits.SIGNAL_TIMEOUT_SECONDS,
            redriven_per_second=SIGNAL_REDRIVES_PER_SECOND,
        )
        self.token = _secret(self, "Token", name=foundation.names.token_secret)
        self.webhook_secret = _secret(self, "Webhook", name=foundation.names.webhook_secret)
        # Both hold people's phone numbers: gone when they have served.
        self.audiences = _bucket(self, "Audiences", days=AUDIENCE_DAYS)
        self.exports = _bucket(self, "Exports", days=EXPORT_DAYS)

    def _work(
        self,
        step: str,
        foundation: Foundation,
        filter_policy: dict[str, list[Any]],
        timeout_seconds: int,
    ) -> WorkQueue:
        """The queue of a step that takes one kind of message from the topic."""
        route = step.lower()
        work = WorkQueue(
            self,
            step,
            route=route,
            foundation=foundation,
            timeout_seconds=timeout_seconds,
            redriven_per_second=REQUEST_REDRIVES_PER_SECOND,
        )
        subscribe(
            work,
            topic=self.topic,
            queue=work.queue,
            name=route,
            foundation=foundation,
            filter_policy=filter_policy,
            raw=False,
        )
        return work

    def _approvals(self, foundation: Foundation) -> Approvals:
        works = (self.campaign, self.command, self.export, self.schedule)
        requests = [work.queue for work in works]
        return Approvals(
            self, "Approvals", foundation=foundation, topic=self.topic, requests=requests
        )

    def _parked(self, foundation: Foundation) -> sqs.Queue:
        return KeptQueue(
            self,
            "Parked",
            name=PARKED,
            foundation=foundation,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        ).queue

    def _keep_unrouted(self, foundation: Foundation) -> None:
        unrouted = KeptQueue(
            self,
            "Unrouted",
            name=UNROUTED,
            foundation=foundation,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        known = [number.phone_number_id for number in foundation.stage.numbers]
        subscribe(
            unrouted,
            topic=self.topic,
            queue=unrouted.queue,
            name="unrouted",
            foundation=foundation,
            filter_policy=unrouted_filter(known),
        )


def _topic(
    scope: Construct, construct_id: str, key_id: str, *, name: str, foundation: Foundation
) -> sns.Topic:
    traced = foundation.stage.features.xray
    return sns.Topic(
        scope,
        construct_id,
        topic_name=name,
        # AWS's own key: whoever may publish needs no permission to a key, and neither does a queue.
        master_key=kms.Alias.from_alias_name(scope, key_id, "alias/aws/sns"),
        enforce_ssl=True,
        tracing_config=sns.TracingConfig.ACTIVE if traced else None,
    )


def _secret(scope: Construct, construct_id: str, *, name: str) -> secretsmanager.Secret:
    secret = secretsmanager.Secret(
        scope,
        construct_id,
        secret_name=name,
        removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    )
    resource = secret.node.default_child
    assert isinstance(resource, secretsmanager.CfnSecret)
    # Without a value until an operator puts one, so that no deployment ever overwrites it.
    resource.add_property_deletion_override("GenerateSecretString")
    return secret


def _bucket(scope: Construct, construct_id: str, *, days: int) -> s3.Bucket:
    return s3.Bucket(
        scope,
        construct_id,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        lifecycle_rules=[
            s3.LifecycleRule(
                expiration=Duration.days(days),
                # Of an export whose function died.
                abort_incomplete_multipart_upload_after=Duration.days(1),
            )
        ],
        removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    )

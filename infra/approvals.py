"""Two principals, held apart by IAM: who approves cannot publish, and nobody else can approve."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.foundation import Foundation
from infra.queues import WorkQueue
from sluice.domain.limits import APPROVE_TIMEOUT_SECONDS

PRINCIPAL = "aws:PrincipalArn"
"""Of a session it is the role's own ARN, so whoever assumes the role is meant.
Source: AWS, IAM, global condition keys."""


class Approvals(Construct):
    """The queue of approvals. What counts in it is who sent a message, so nothing redrives it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        foundation: Foundation,
        topic: sns.Topic,
        requests: Sequence[sqs.Queue],
    ) -> None:
        """``requests`` are the queues behind the topic: another way to publish."""
        super().__init__(scope, construct_id)
        work = WorkQueue(
            self,
            "Work",
            route="approvals",
            foundation=foundation,
            timeout_seconds=APPROVE_TIMEOUT_SECONDS,
            redriven_per_second=None,
        )
        self.queue = work.queue
        approvers = foundation.stage.approvers
        if approvers:
            self.queue.add_to_resource_policy(
                iam.PolicyStatement(
                    actions=["sqs:SendMessage", "sqs:GetQueueUrl"],
                    principals=[iam.ArnPrincipal(arn) for arn in approvers],
                    resources=[self.queue.queue_arn],
                )
            )
        for queue in (self.queue, work.dead):
            queue.add_to_resource_policy(_only_by(approvers, queue))
        if approvers:
            topic.add_to_resource_policy(_never_by(approvers, "sns:Publish", topic.topic_arn))
            for queue in requests:
                queue.add_to_resource_policy(
                    _never_by(approvers, "sqs:SendMessage", queue.queue_arn)
                )


def _only_by(approvers: Sequence[str], queue: sqs.Queue) -> iam.PolicyStatement:
    """Nobody but approvers may send, whatever else permits it: not even a service."""
    others = {"ArnNotEquals": {PRINCIPAL: list(approvers)}} if approvers else None
    return _deny("sqs:SendMessage", queue.queue_arn, others)


def _never_by(approvers: Sequence[str], action: str, resource: str) -> iam.PolicyStatement:
    return _deny(action, resource, {"ArnEquals": {PRINCIPAL: list(approvers)}})


def _deny(action: str, resource: str, conditions: dict[str, Any] | None) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        effect=iam.Effect.DENY,
        actions=[action],
        principals=[iam.AnyPrincipal()],
        resources=[resource],
        conditions=conditions,
    )

"""``schedule``: keeps schedules at EventBridge Scheduler, and starts what it says is due."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.edges import Edges
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.queues import KeptQueue
from sluice import settings
from sluice.domain.limits import SCHEDULE_TIMEOUT_SECONDS

CONCURRENCY = 2
SERVICE = "scheduler.amazonaws.com"


class Schedule(Construct):
    """The function behind the queue of schedules, their group, and the role that sends to it."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, edges: Edges
    ) -> None:
        super().__init__(scope, construct_id)
        queue = edges.schedule.queue
        undelivered = edges.schedule.node.find_child("Undelivered")
        assert isinstance(undelivered, KeptQueue)
        group = scheduler.CfnScheduleGroup(self, "Group", name=foundation.names.schedules)
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                SERVICE, conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
            ),
        )
        sent_to = [queue.queue_arn, undelivered.queue.queue_arn]
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=sent_to))
        step = StepFunction(
            self,
            "Step",
            step="schedule",
            foundation=foundation,
            variables={
                settings.SCHEDULE_QUEUE_URL: queue.queue_url,
                settings.PARKED_QUEUE_URL: edges.parked.queue_url,
                settings.TOPIC_ARN: edges.topic.topic_arn,
                settings.SCHEDULE_QUEUE_ARN: queue.queue_arn,
                settings.SCHEDULE_UNDELIVERED_ARN: undelivered.queue.queue_arn,
                settings.SCHEDULE_ROLE_ARN: role.role_arn,
                settings.SCHEDULE_GROUP: foundation.names.schedules,
            },
            timeout_seconds=SCHEDULE_TIMEOUT_SECONDS,
            memory_megabytes=256,
        )
        step.node.add_dependency(group)
        step.consume(queue, batch_messages=1, concurrency=CONCURRENCY, defers=True)
        step.allow_send(edges.parked)
        step.allow_publish(edges.topic)
        step.allow(
            "scheduler:CreateSchedule",
            "scheduler:UpdateSchedule",
            "scheduler:DeleteSchedule",
            on=[
                Stack.of(self).format_arn(
                    service="scheduler",
                    resource="schedule",
                    resource_name=f"{foundation.names.schedules}/*",
                )
            ],
        )
        step.function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["iam:PassRole"],
                resources=[role.role_arn],
                conditions={"StringEquals": {"iam:PassedToService": SERVICE}},
            )
        )

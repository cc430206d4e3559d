"""``send``: the two lanes of a number, each with its queue and its sender, at the exact rate."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.edges import send_filter
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.queues import RETENTION_LONGEST, WorkQueue, describe_routes, one_policy
from infra.stage import Stage
from infra.stage_parts import Number
from sluice import settings
from sluice.domain import limits
from sluice.domain.lanes import BULK, LANES, Lane
from sluice.domain.topup import chunk_deliveries_max


@dataclass(frozen=True, kw_only=True)
class SenderPlan:
    """The figures of one lane's sender; together they are the proof of its rate."""

    slots: int
    slot_sends_per_second: float
    slot_sends_per_second_lent: float
    batch_messages: int
    redriven_per_second: float

    @property
    def window_seconds(self) -> int | None:
        """How long SQS may gather a batch; more than ten messages need such a window."""
        if self.batch_messages > limits.SQS_BATCH_ENTRIES_MAX:
            return limits.SEND_BATCH_WINDOW_SECONDS
        return None

    @classmethod
    def of(cls, number: Number, lane: Lane, *, stage: Stage) -> "SenderPlan":
        """The plan for a lane: full chunks that take about ``SEND_BATCH_SECONDS`` of a slot."""
        slots, deliveries = number.slots(lane), chunk_deliveries_max(lane)
        lent = round(stage.lent_rate(number, lane) / slots, 6)
        batch = max(1, round(lent * limits.SEND_BATCH_SECONDS / deliveries))
        redriven = stage.lane_rate(number, lane) * limits.REDRIVE_RATE_SHARE_MAX / deliveries
        return cls(
            slots=slots,
            slot_sends_per_second=round(stage.lane_rate(number, lane) / slots, 6),
            slot_sends_per_second_lent=lent,
            # Who talks does not wait for a batch to fill.
            batch_messages=batch if lane == BULK else min(batch, limits.SQS_BATCH_ENTRIES_MAX),
            redriven_per_second=round(redriven, 6),
        )

    @property
    def facts(self) -> dict[str, float]:
        """What dispatch must know of the lane."""
        return {
            "send_rate": round(self.slots * self.slot_sends_per_second_lent, 6),
            "messages_at_once": self.slots * self.batch_messages,
        }


class Send(Construct):
    """A number: its lanes, and what describes them to others.

    Seventeen resources, so that a stack, which may have 500, holds twenty-five numbers.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        number: Number,
        foundation: Foundation,
        topic: sns.ITopic,
        undelivered: sqs.IQueue,
        parked: sqs.IQueue,
        token: secretsmanager.ISecret,
    ) -> None:
        """``undelivered`` keeps what the topic could not deliver to either lane."""
        super().__init__(scope, construct_id)
        lanes = {
            lane: SendLane(
                self,
                lane.capitalize(),
                number=number,
                lane=lane,
                foundation=foundation,
                parked=parked,
                token=token,
            )
            for lane in LANES
        }
        self.works = [lane.work for lane in lanes.values()]
        queues = [work.queue for work in self.works]
        policy = one_policy(self, "QueuePolicy", queues=queues, delivers=topic)
        for lane in lanes.values():
            subscription = lane.subscribe(topic, undelivered=undelivered)
            # Else the first messages find the door closed.
            subscription.add_dependency(policy)
        describe_routes(
            self,
            name=f"send-{number.phone_number_id}",
            works=self.works,
            foundation=foundation,
        )
        plans = {lane: construct.plan for lane, construct in lanes.items()}
        _describe(self, number=number, plans=plans, foundation=foundation)


class SendLane(Construct):
    """A lane of a number: its queue, its subscription, its sender."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        number: Number,
        lane: Lane,
        foundation: Foundation,
        parked: sqs.IQueue,
        token: secretsmanager.ISecret,
    ) -> None:
        super().__init__(scope, construct_id)
        self._number, self._lane, self._foundation = number, lane, foundation
        self.plan = SenderPlan.of(number, lane, stage=foundation.stage)
        self._name = foundation.names.send(number.phone_number_id, lane)
        self.work = self._queue()
        step = self._sender(parked)
        step.consume(
            self.work.queue,
            batch_messages=self.plan.batch_messages,
            concurrency=self.plan.slots,
            window_seconds=self.plan.window_seconds,
        )
        step.allow_send(parked)
        step.allow_secret(token)

    def subscribe(self, topic: sns.ITopic, *, undelivered: sqs.IQueue) -> sns.CfnSubscription:
        """Delivery of what is for the lane. The policy of its queue must stand before."""
        return sns.CfnSubscription(
            self,
            "Subscription",
            topic_arn=topic.topic_arn,
            protocol="sqs",
            endpoint=self.work.queue.queue_arn,
            raw_message_delivery=True,
            filter_policy=send_filter(self._number.phone_number_id, self._lane),
            redrive_policy={"deadLetterTargetArn": undelivered.queue_arn},
        )

    def _queue(self) -> WorkQueue:
        """The lane's queue. A policy and a route it has in common with the other lane."""
        return WorkQueue(
            self,
            "Work",
            route=self._name,
            foundation=self._foundation,
            timeout_seconds=limits.SEND_TIMEOUT_SECONDS,
            redriven_per_second=self.plan.redriven_per_second,
            # A number whose sender cannot run keeps its messages as long as SQS can.
            retention=RETENTION_LONGEST,
            alone=False,
        )

    def _sender(self, parked: sqs.IQueue) -> StepFunction:
        """The function, with as many executions as the lane has slots."""
        foundation, plan = self._foundation, self.plan
        return StepFunction(
            self,
            "Step",
            step="send",
            name=self._name,
            foundation=foundation,
            variables={
                settings.PARKED_QUEUE_URL: parked.queue_url,
                settings.TOKEN_SECRET_ID: foundation.names.token_secret,
                settings.CLOUD_API_URL: foundation.stage.cloud_api_url,
                settings.PHONE_NUMBER_ID: self._number.phone_number_id,
                settings.LANE: self._lane,
                settings.SLOTS: str(plan.slots),
                settings.SLOT_SENDS_PER_SECOND: str(plan.slot_sends_per_second),
                settings.SLOT_SENDS_PER_SECOND_LENT: str(plan.slot_sends_per_second_lent),
                settings.FREQUENCY_CAP: foundation.stage.frequency_cap_json,
            },
            timeout_seconds=limits.SEND_TIMEOUT_SECONDS,
            memory_megabytes=1024,
            reserved_concurrency=plan.slots,
        )


def _describe(
    scope: Construct, *, number: Number, plans: Mapping[Lane, SenderPlan], foundation: Foundation
) -> None:
    facts = {
        "phone_number_id": number.phone_number_id,
        "account_id": number.account_id,
        "portfolio_id": number.portfolio_id,
        "daily_limit": foundation.stage.daily_limits.get(number.portfolio_id),
        "messages_per_second": number.messages_per_second,
        "send_rate": foundation.stage.send_rate(number),
        "lanes": {lane: plan.facts for lane, plan in plans.items()},
        "state": number.state,
    }
    ssm.StringParameter(
        scope,
        "Number",
        parameter_name=f"{foundation.names.numbers_path}/{number.phone_number_id}",
        string_value=json.dumps(facts),
    )

"""``send``: one number's queue and its sender, at the exact rate."""

import json
from dataclasses import dataclass

from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.alarms import alarm_when_a_person_is_needed, alarm_when_throttled
from infra.config import Number, Stage
from infra.edges import send_filter
from infra.foundation import Foundation
from infra.function import StepFunction
from infra.queues import RETENTION_LONGEST, WorkQueue, subscribe
from sluice import settings
from sluice.domain import limits


@dataclass(frozen=True, kw_only=True)
class SenderPlan:
    """The figures of one sender; together they are the proof of its rate."""

    slots: int
    slot_sends_per_second: float
    batch_messages: int
    redriven_per_second: float

    @property
    def window_seconds(self) -> int | None:
        """How long SQS may gather a batch; more than ten messages need such a window."""
        if self.batch_messages > limits.SQS_BATCH_ENTRIES_MAX:
            return limits.SEND_BATCH_WINDOW_SECONDS
        return None

    @classmethod
    def of(cls, number: Number, *, stage: Stage) -> "SenderPlan":
        """The plan for a number: full chunks that take about ``SEND_BATCH_SECONDS`` of a slot."""
        slot_sends_per_second = stage.slot_sends_per_second(number)
        sends = slot_sends_per_second * limits.SEND_BATCH_SECONDS
        redriven_sends_per_second = stage.send_rate(number) * limits.REDRIVE_RATE_SHARE_MAX
        return cls(
            slots=number.slots,
            slot_sends_per_second=slot_sends_per_second,
            batch_messages=max(1, round(sends / limits.CHUNK_DELIVERIES_MAX)),
            redriven_per_second=round(redriven_sends_per_second / limits.CHUNK_DELIVERIES_MAX, 6),
        )


class Send(Construct):
    """A number: its queue, its subscription, its sender, its parameter, its alarms."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        number: Number,
        foundation: Foundation,
        topic: sns.ITopic,
        parked: sqs.IQueue,
        token: secretsmanager.ISecret,
    ) -> None:
        super().__init__(scope, construct_id)
        self._number, self._foundation = number, foundation
        self._plan = SenderPlan.of(number, stage=foundation.stage)
        self._name = foundation.names.send(number.phone_number_id)
        work = self._queue(topic)
        step = self._sender(parked)
        step.consume(
            work.queue,
            batch_messages=self._plan.batch_messages,
            concurrency=self._plan.slots,
            window_seconds=self._plan.window_seconds,
        )
        parked.grant_send_messages(step.function)
        token.grant_read(step.function)
        alarm_when_throttled(
            self, "ThrottledAlarm", function=step.function, alarms=foundation.alarms
        )
        alarm_when_a_person_is_needed(
            self,
            "NeedsPersonAlarm",
            dimensions={"service": "send", "phone_number_id": number.phone_number_id},
            alarms=foundation.alarms,
        )
        _describe(self, number=number, plan=self._plan, foundation=foundation)

    def _queue(self, topic: sns.ITopic) -> WorkQueue:
        """The number's queue, subscribed to what is for the number."""
        work = WorkQueue(
            self,
            "Bulk",
            route=self._name,
            foundation=self._foundation,
            timeout_seconds=limits.SEND_TIMEOUT_SECONDS,
            redriven_per_second=self._plan.redriven_per_second,
            # A number whose sender cannot run keeps its messages as long as SQS can.
            retention=RETENTION_LONGEST,
        )
        subscribe(
            work,
            topic=topic,
            queue=work.queue,
            name=self._name,
            foundation=self._foundation,
            filter_policy=send_filter(self._number.phone_number_id),
        )
        return work

    def _sender(self, parked: sqs.IQueue) -> StepFunction:
        """The function, with as many executions as the number has slots."""
        foundation = self._foundation
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
                settings.SLOT_SENDS_PER_SECOND: str(self._plan.slot_sends_per_second),
            },
            timeout_seconds=limits.SEND_TIMEOUT_SECONDS,
            memory_megabytes=1024,
            reserved_concurrency=self._plan.slots,
        )


def _describe(
    scope: Construct, *, number: Number, plan: SenderPlan, foundation: Foundation
) -> None:
    facts = {
        "phone_number_id": number.phone_number_id,
        "account_id": number.account_id,
        "portfolio_id": number.portfolio_id,
        "messages_per_second": number.messages_per_second,
        "send_rate": foundation.stage.send_rate(number),
        "messages_at_once": plan.slots * plan.batch_messages,
        "state": number.state,
    }
    ssm.StringParameter(
        scope,
        "Number",
        parameter_name=f"{foundation.names.numbers_path}/{number.phone_number_id}",
        string_value=json.dumps(facts),
    )

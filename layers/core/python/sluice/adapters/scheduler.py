"""EventBridge Scheduler: which schedules there are, and what it sends when it is time."""

import json
from datetime import datetime
from typing import Any

from sluice.domain.limits import SCHEDULE_EVENT_AGE_SECONDS_MAX, SCHEDULE_RETRIES_MAX
from sluice.domain.models.schedule import SchedulePut
from sluice.domain.schedules import name_of

SCHEDULED_TIME = "<aws.scheduler.scheduled-time>"
"""Scheduler puts the time there for which it was scheduled, not that of the try.
https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html"""
PUT_REFUSALS = ("ValidationException", "ServiceQuotaExceededException")


class Scheduler:
    """The schedules of one group, all of which send to one queue.

    botocore gives each call a ClientToken of its own. One made of a schedule's content would be
    wrong: who pauses, resumes and pauses again within hours would be taken for a retry.
    """

    def __init__(
        self, client: Any, *, group: str, queue_arn: str, undelivered_arn: str, role_arn: str
    ) -> None:
        self._client = client
        self._group = group
        self._target = {
            "Arn": queue_arn,
            "RoleArn": role_arn,
            "DeadLetterConfig": {"Arn": undelivered_arn},
            "RetryPolicy": {
                "MaximumEventAgeInSeconds": SCHEDULE_EVENT_AGE_SECONDS_MAX,
                "MaximumRetryAttempts": SCHEDULE_RETRIES_MAX,
            },
        }

    def put(self, schedule: SchedulePut, *, enabled: bool, now: datetime) -> str | None:
        """Create the schedule, or make it so; returns why AWS refuses it. Again changes nothing."""
        definition = self._definition(schedule, enabled=enabled, now=now)
        try:
            try:
                self._client.update_schedule(**definition)
            except self._client.exceptions.ResourceNotFoundException:
                self._client.create_schedule(**definition)
        except self._client.exceptions.ClientError as error:
            told = error.response["Error"]
            if told["Code"] in PUT_REFUSALS:
                return f"EventBridge Scheduler: {told.get('Message') or told['Code']}"
            raise
        return None

    def delete(self, schedule_id: str) -> None:
        """Delete the schedule, if there is one."""
        try:
            self._client.delete_schedule(GroupName=self._group, Name=name_of(schedule_id))
        except self._client.exceptions.ResourceNotFoundException:
            return

    def _definition(self, schedule: SchedulePut, *, enabled: bool, now: datetime) -> dict[str, Any]:
        start = {"kind": "schedule", "action": "start", "id": schedule.id, "at": SCHEDULED_TIME}
        definition: dict[str, Any] = {
            "GroupName": self._group,
            "Name": name_of(schedule.id),
            "Description": schedule.id,
            "ScheduleExpression": schedule.expression,
            "ScheduleExpressionTimezone": schedule.time_zone,
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "State": "ENABLED" if enabled else "DISABLED",
            "Target": {**self._target, "Input": json.dumps(start)},
        }
        # Scheduler refuses a start that is over, and would refuse every later change for it.
        if schedule.starts_at is not None and schedule.starts_at > now:
            definition["StartDate"] = schedule.starts_at
        if schedule.ends_at is not None:
            definition["EndDate"] = schedule.ends_at
        return definition

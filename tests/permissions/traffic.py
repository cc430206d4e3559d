"""A running system, as publishers, approvers, operators, people and Meta use it."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import boto3

from local.aws import REGION
from local.system import System
from tests.end_to_end.conftest import Campaign, people, until
from tests.permissions.answers import Answer
from tests.permissions.running import APPROVER

SECONDS_MAX: Final = 180.0
"""Of a busy machine; a calm one needs a tenth."""
REPEAT_SECONDS: Final = 15.0
LOOK_AFTER_SECONDS: Final = 4.0

Passing = Callable[["Traffic"], None]


@dataclass(frozen=True)
class Passed:
    """What became of a message of each kind."""

    errors: Mapping["Passing", BaseException | None]
    answers: frozenset[Answer]
    """What policies said to each call meanwhile."""


class StoppedError(Exception):
    """Nobody waits any more."""


class Traffic:
    """What publishers, approvers, operators, people and Meta do to a running system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._numbers = iter(range(100_000, 900_000, 100))
        self.approver = _user(system, APPROVER)
        self._stops: Callable[[], Any] = lambda: False
        self._seconds_max = SECONDS_MAX

    def impatient(self, seconds_max: float, *, stops: Callable[[], Any]) -> "Traffic":
        """The same, but it waits no longer than so, and no longer than until it is to stop."""
        other = copy(self)
        other._stops, other._seconds_max = stops, seconds_max
        return other

    def name(self, word: str) -> str:
        """An id that nothing else has."""
        return f"{word}-{uuid4().hex[:8]}"

    def people(self, count: int) -> list[str]:
        """Numbers that nothing else uses."""
        return people(next(self._numbers), count)

    def campaign(self, word: str, recipients: int = 2, **changes: Any) -> Campaign:
        """A campaign that is published."""
        campaign = Campaign(self.system, self.name(word), self.people(recipients), **changes)
        campaign.publish()
        return campaign

    def upload(self, name: str, content: str) -> str:
        """A file in the audience bucket: its URI."""
        bucket = self.system.deployment.audience_bucket
        self.system.aws.client("s3").put_object(Bucket=bucket, Key=name, Body=content.encode())
        return f"s3://{bucket}/{name}"

    def publish(self, kind: str, body: Mapping[str, Any]) -> None:
        """To the topic."""
        self.system.publish({"kind": kind, **body}, kind=kind)

    def put(self, queue: str, body: str, **attributes: str) -> None:
        """Straight into a queue, past the topic: as what nobody can read, or what is dead."""
        fifo = {"MessageGroupId": "0", "MessageDeduplicationId": uuid4().hex}
        sender = self.approver if queue == "approvals" else self.system.aws.client("sqs")
        sender.send_message(
            QueueUrl=self.system.deployment.queue_urls[queue],
            MessageBody=body,
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
            },
            **(fifo if queue.endswith(".fifo") else {}),
        )

    def approve(self, campaign: str, action: str = "approve") -> None:
        """To the queue of approvals, as the approver."""
        self.approver.send_message(
            QueueUrl=self.system.deployment.queue_urls["approvals"],
            MessageBody=json.dumps({"kind": "command", "action": action, "campaign": campaign}),
        )

    def tells(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What the report answers."""
        return dict(self.system.invoke("report", question))

    def has(self, bucket: str, key: str) -> bool:
        """Whether a file is there."""
        listed = self.system.aws.client("s3").list_objects_v2(Bucket=bucket, Prefix=key)
        return any(found["Key"] == key for found in listed.get("Contents", []))

    def has_export(self, key: str) -> bool:
        """Whether a file is in the bucket of exports."""
        return self.has(self.system.deployment.export_bucket, key)

    def tick(self, step: str) -> None:
        """Invoke a step as its clock does; if its clock does so at this moment, that serves."""
        with suppress(self.system.aws.client("lambda").exceptions.TooManyRequestsException):
            self.system.invoke(step, {})

    def repeat(self, act: Callable[[], None], condition: Callable[[], Any], what: str) -> None:
        """Do something again and again, until it has led to something."""
        acted_at = 0.0

        def led() -> Any:
            nonlocal acted_at
            if time.monotonic() - acted_at > REPEAT_SECONDS:
                act()
                acted_at = time.monotonic()
            # Who looks at parked messages hides them from what was ordered.
            return time.monotonic() - acted_at > LOOK_AFTER_SECONDS and condition()

        self.eventually(led, what)

    def eventually(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait for something, and return it. Raises StoppedError if it is to stop."""

        def stopped_or_there() -> Any:
            if self._stops():
                raise StoppedError
            return condition()

        return until(stopped_or_there, seconds=self._seconds_max, what=what)


def _user(system: System, name: str) -> Any:
    """An SQS client of a user whom IAM gives nothing: what it may is in policies of queues."""
    iam = system.aws.client("iam")
    iam.create_user(UserName=name)
    made = iam.create_access_key(UserName=name)["AccessKey"]
    return boto3.client(
        "sqs",
        endpoint_url=system.aws.endpoint_url,
        region_name=REGION,
        aws_access_key_id=made["AccessKeyId"],
        aws_secret_access_key=made["SecretAccessKey"],
    )

"""Verify a stage: one message to a phone of one's own, followed until the phone has it."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

LANE: Final = "conversation"
POLL_SECONDS: Final = 2.0
ARRIVED: Final = frozenset({"delivered", "read"})
LOST: Final = frozenset({"failed", "cancelled", "expired"})

Client = Callable[[str], Any]
"""``client("lambda")`` gives boto3's client of that service."""


@dataclass(frozen=True)
class Sample:
    """A template without parameters, to one person by one number."""

    phone_number_id: str
    to: str
    template: str
    language: str


@dataclass(frozen=True)
class Seen:
    """How far the message is; ``state`` None: no sender has taken it yet."""

    number_known: bool = True
    """Whether ``dispatch`` has read the number; until then no sender sends by it."""
    state: str | None = None
    status: str | None = None
    error_code: int | None = None

    @property
    def arrived(self) -> bool:
        """Whether the phone has it."""
        return self.status in ARRIVED

    @property
    def over(self) -> bool:
        """Whether it will get no further."""
        return self.arrived or self.state in LOST or self.status == "failed"

    @property
    def advice(self) -> str | None:
        """Where to look if it stays so; None: it arrived."""
        if self.arrived:
            return None
        if not self.number_known:
            return "no such number, or it was deployed a minute ago: nothing was sent"
        if self.state is None:
            return (
                "no sender took it: look at the queue unrouted, and wait 15 minutes after a deploy"
            )
        if self.error_code is not None:
            return f"error {self.error_code}: docs/runbook.md and the sender's log say more"
        if self.state == "done":
            return "Meta took it and tells nothing: look at the webhook's address and its fields"
        return "the sender has it and waits: report says whether the number is paused"


def verify(stage: str, sample: Sample, *, client: Client, seconds_max: float) -> Iterator[Seen]:
    """Publish it; yield each change until its end.

    The last one says how it ended; that is after ``seconds_max`` at the latest. Raises where the
    stage has no topic or no report.
    """
    message_id = f"verify-{uuid4().hex[:12]}"
    deadline, seen = time.monotonic() + seconds_max, Seen(number_known=False)
    while not _knows(stage, sample.phone_number_id, client):
        if time.monotonic() >= deadline:
            yield seen
            return
        time.sleep(POLL_SECONDS)
    _publish(stage, sample, message_id, client)
    yield (seen := Seen())
    while not seen.over and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        now = _message(stage, message_id, client)
        if now != seen:
            yield (seen := now)


def _publish(stage: str, sample: Sample, message_id: str, client: Client) -> None:
    topics, caller = client("sns"), client("sts").get_caller_identity()
    partition, region = caller["Arn"].split(":")[1], topics.meta.region_name
    request = {
        "kind": "send",
        # As those of a test are named: so the report is asked for it.
        "id": f"test:{message_id}:{sample.phone_number_id}",
        "phone_number_id": sample.phone_number_id,
        "lane": LANE,
        "recipients": [{"address": sample.to}],
        "template": {"name": sample.template, "language": sample.language},
    }
    topics.publish(
        TopicArn=f"arn:{partition}:sns:{region}:{caller['Account']}:sluice-{stage}-campaign-requests",
        Message=json.dumps(request),
        MessageAttributes={
            name: {"DataType": "String", "StringValue": request[name]}
            for name in ("kind", "phone_number_id", "lane")
        },
    )


def _knows(stage: str, phone_number_id: str, client: Client) -> bool:
    numbers = _ask(stage, {}, client).get("numbers", [])
    return phone_number_id in {one["phone_number_id"] for one in numbers}


def _message(stage: str, message_id: str, client: Client) -> Seen:
    messages = _ask(stage, {"test": message_id}, client).get("messages")
    if not messages:
        return Seen()
    [one] = messages
    return Seen(state=one["state"], status=one["status"], error_code=one["error_code"])


def _ask(stage: str, question: dict[str, str], client: Client) -> dict[str, Any]:
    answer = client("lambda").invoke(
        FunctionName=f"sluice-{stage}-report:live", Payload=json.dumps(question).encode()
    )
    told: dict[str, Any] = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise RuntimeError(f"report: {told}")
    return told

"""Whether a number may be taken out of the configuration: nothing of it is left to be lost."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

LANES: Final = ("conversation", "bulk")
_COUNTS: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)

Client = Callable[[str], Any]
"""``client("lambda")`` gives boto3's client of that service."""


@dataclass(frozen=True)
class Remaining:
    """What is left of a number."""

    phone_number_id: str
    state: str | None
    """As ``dispatch`` last read it: ``active`` or ``draining``; None: it knows no such number."""
    unsent: int
    """Deliveries that only this number may send, or that it has in its hands."""
    messages: Mapping[str, int]
    """By queue, those in flight too; dead letters come back and are sent."""

    @property
    def reasons(self) -> list[str]:
        """Why it must not be removed yet; none: it may be."""
        reasons = []
        if self.state == "active":
            reasons.append("it is active: set its state to draining, and deploy")
        if self.unsent:
            reasons.append(f"{self.unsent} deliveries wait for it: see them sent, or cancel them")
        reasons += [
            f"{count} messages in {queue}" for queue, count in self.messages.items() if count
        ]
        return reasons


def remaining(stage: str, phone_number_id: str, *, client: Client) -> Remaining:
    """Return what is left of a number; changes nothing. Raises where the stage has no report."""
    answer = client("lambda").invoke(
        FunctionName=f"sluice-{stage}-report:live", Payload=json.dumps({}).encode()
    )
    told = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise RuntimeError(f"report: {told}")
    number = next(
        (one for one in told["numbers"] if one["phone_number_id"] == phone_number_id), None
    )
    queues = client("sqs")
    names = [f"send-{phone_number_id}-{lane}{end}" for lane in LANES for end in ("", "-dead")]
    return Remaining(
        phone_number_id,
        state=number and number["state"],
        unsent=number["unsent"] if number else 0,
        messages={name: _messages(queues, f"sluice-{stage}-{name}") for name in names},
    )


def _messages(queues: Any, name: str) -> int:
    try:
        url = queues.get_queue_url(QueueName=name)["QueueUrl"]
    except queues.exceptions.QueueDoesNotExist:
        return 0
    found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS))["Attributes"]
    return sum(int(found.get(count, 0)) for count in _COUNTS)

"""A message of a queue as it was published, out of the envelope in which the topic delivers it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sluice.domain.documents import json_object

_FIELDS: Final = ("TopicArn", "MessageId", "Message")


@dataclass(frozen=True, slots=True)
class Published:
    """What was published, and the id that SNS gave it; None: it did not come by a topic."""

    body: str
    attributes: Mapping[str, str]
    message_id: str | None
    at: datetime | None = None
    """When it was published, by the clock of SNS."""


def published_of(body: str, attributes: Mapping[str, str]) -> Published:
    """Open the envelope of SNS, if there is one. Never raises.

    Requests are not delivered raw: the envelope alone has the id by which CloudTrail names their
    publisher. What redrive wrote beside the envelope stays.
    Source: AWS, SNS, parsing Amazon SNS message formats.
    """
    document = json_object(body.encode("utf-8", "surrogatepass"))
    if document is None or document.get("Type") != "Notification":
        return Published(body, attributes, None)
    topic, message_id, message = (document.get(name) for name in _FIELDS)
    if not (isinstance(topic, str) and isinstance(message_id, str) and isinstance(message, str)):
        return Published(body, attributes, None)
    told = _texts(document.get("MessageAttributes"))
    at = _moment(document.get("Timestamp"))
    return Published(message, {**told, **attributes}, message_id, at)


def _moment(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None


def _texts(attributes: Any) -> dict[str, str]:
    if not isinstance(attributes, dict):
        return {}
    return {
        name: one["Value"]
        for name, one in attributes.items()
        if isinstance(one, dict) and isinstance(one.get("Value"), str)
    }

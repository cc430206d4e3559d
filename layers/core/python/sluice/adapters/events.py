"""What Lambda hands to a function, read."""

import json
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sluice.domain.clock import Clock


def attributes_of(record: SQSRecord) -> dict[str, str]:
    """Return the message attributes of a queue record as text."""
    return {
        name: attribute["stringValue"]
        for name, attribute in record.raw_event.get("messageAttributes", {}).items()
        if isinstance(attribute.get("stringValue"), str)
    }


def objects_in(body: str, name: str) -> list[Mapping[str, Any]] | None:
    """Return the list of objects under ``name`` in a JSON body; None for anything else."""
    try:
        found = json.loads(body)[name]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    whole = isinstance(found, list) and all(isinstance(one, dict) for one in found)
    return found if whole else None


def deadline_of(context: Any, clock: Clock) -> float:
    """Return when Lambda kills the function, on the monotonic clock."""
    return clock.monotonic() + float(context.get_remaining_time_in_millis()) / 1000

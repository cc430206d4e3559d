"""The machine that a function runs on: its clock, its dice, its log, its AWS clients."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluice import settings
from sluice.domain.pairs import Pairs
from sluice.wiring.environment import setting

if TYPE_CHECKING:
    from sluice.adapters.clock import SystemClock
    from sluice.adapters.journal import JournalReader
    from sluice.adapters.telemetry import Telemetry

Handler = Callable[[Mapping[str, Any], Any], Any]


def discreet(handler: Handler) -> Handler:
    """Let Lambda, which logs the words of whatever is raised, see only what may be told."""

    @wraps(handler)
    def handle(event: Mapping[str, Any], context: Any) -> Any:
        try:
            return handler(event, context)
        except Exception as error:  # noqa: BLE001 - told, and raised again
            from sluice.domain.failures import withheld

            raise withheld(error) from None

    return handle


@cache
def clock() -> "SystemClock":
    """Return the machine's clock."""
    from sluice.adapters.clock import SystemClock

    return SystemClock()


def dice() -> Callable[[], float]:
    """Return the machine's dice."""
    from sluice.adapters.clock import roll

    return roll


def workplace() -> Callable[[], AbstractContextManager[Path]]:
    """Return what gives a folder of the machine's disk."""
    from sluice.adapters.workplace import workplace

    return workplace


@cache
def pairs() -> Pairs:
    """Return whom this environment wrote to lately."""
    return Pairs()


@cache
def telemetry() -> "Telemetry":
    """Return the log and the metrics of this function; Powertools reads its own variables."""
    from aws_lambda_powertools import Logger, Metrics

    from sluice.adapters.telemetry import Telemetry

    return Telemetry(Logger(), Metrics())


@cache
def journal() -> "JournalReader":
    """Return the journal of all senders, in their logs."""
    from sluice.adapters.journal import JournalReader

    return JournalReader(client("logs"), prefix=setting(settings.JOURNAL_PREFIX))


@cache
def client(service: str) -> Any:
    """Return the client of an AWS service."""
    import boto3

    return boto3.client(service)

"""The machine that a function runs on: its clock, its dice, its log, its AWS clients."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluice import settings
from sluice.domain.pairs import Pairs
from sluice.wiring.environment import setting

if TYPE_CHECKING:
    from sluice.adapters.clock import SystemClock
    from sluice.adapters.journal import JournalReader
    from sluice.adapters.telemetry import Telemetry


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

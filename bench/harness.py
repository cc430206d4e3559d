"""What every bench shares: a server, a campaign, figures with their spread, and the verdict."""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from local.postgres import Postgres, start_postgres
from local.processes import Processes
from local.system import database_of
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.migrate import migrate
from sluice.adapters.postgres.picks import Picks
from sluice.domain.requests import CampaignRequest, request_hash

NUMBER: Final = "106540352242922"
NOW: Final = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
PERCENTILE: Final = 99
TEMPLATE: Final = {
    "name": "vaccination_reminder",
    "language": "en_US",
    "components": [
        {
            "type": "body",
            "parameters": [
                {"type": "text", "text": f"{{{{{column}}}}}"} for column in ("name", "clinic")
            ],
        }
    ],
}
FILL_RECIPIENTS: Final = """
INSERT INTO recipient (campaign_id, seq, address, match_key, parameters)
SELECT %(campaign_id)s, seq, '+4915' || 100000000 + seq, '+4915' || 100000000 + seq,
       jsonb_build_object('name', 'Person ' || seq, 'clinic', 'City Clinic')
FROM generate_series(1, %(rows)s) AS seq
"""

console: Final = Console(stderr=True)


@dataclass(frozen=True)
class Bar:
    """What must be reached, and what was."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Spread:
    """Rounds of one figure."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)

    def __str__(self) -> str:
        """Median, and from lowest to highest."""
        low, high = min(self.values), max(self.values)
        return f"{self.median:,.2f} ({low:,.2f} to {high:,.2f})"

    def as_json(self) -> dict[str, float]:
        """Return it for machines."""
        return {
            "median": round(self.median, 4),
            "min": round(min(self.values), 4),
            "max": round(max(self.values), 4),
        }


def ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Round by round, because the machine's noise is in both of a round."""
    return Spread(tuple(a / b for a, b in zip(above, below, strict=True)))


def p99(seconds: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return statistics.quantiles(seconds, n=100, method="inclusive")[PERCENTILE - 1]


def timed(work: Callable[[], Any]) -> float:
    """Return how many seconds ``work`` takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def arguments(description: str | None, *, rows: int, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with what every bench takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=rows, help=f"default {rows:,}")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"default {rounds}")
    return parser


def conclude(bench: str, figures: dict[str, Any], bars: Sequence[Bar]) -> int:
    """Print the bars for people and everything for machines; return the exit status."""
    for bar in bars:
        mark = "[green]met[/]" if bar.holds else "[red]MISSED[/]"
        console.print(f"{mark}  {bar.name}: {bar.found}", highlight=False, soft_wrap=True)
    verdict = {bar.name: bar.holds for bar in bars}
    sys.stdout.write(json.dumps({"bench": bench, **figures, "bars": verdict}) + "\n")
    return 0 if all(verdict.values()) else 1


def say(line: str) -> None:
    """Print a line for people."""
    console.print(line, highlight=False, soft_wrap=True)


def progress() -> Progress:
    """Return a display on stderr of what takes long."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


@contextmanager
def server() -> Iterator[Postgres]:
    """Run Postgres as ``make run`` does, with its data in a directory that goes afterwards."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as directory:
        Path(directory).chmod(0o755)
        with Processes(Path(directory)) as processes:
            yield start_postgres(processes, run_directory=Path(directory))


@contextmanager
def migrated(postgres: Postgres, name: str) -> Iterator[tuple[Database, str]]:
    """Yield a database of our schema with one number in it, and its URL."""
    url = postgres.create_database(name)
    database = database_of(url)
    migrate(database)
    number = {
        "phone_number_id": NUMBER,
        "account_id": "1",
        "portfolio_id": "1",
        "send_rate": 76.0,
        "lanes": {
            "conversation": {"send_rate": 15.2, "messages_at_once": 1},
            "bulk": {"send_rate": 76.0, "messages_at_once": 1},
        },
        "state": "active",
    }
    Picks(database).configure([number])
    try:
        yield database, url
    finally:
        database.close()


def new_campaign(database: Database, name: str) -> int:
    """Publish a campaign without an audience and return its campaign_id."""
    document = {
        "campaign": name,
        "template": TEMPLATE,
        "numbers": [NUMBER],
        "audience": {"s3": "s3://audiences/people.csv"},
    }
    request = CampaignRequest.model_validate_json(json.dumps(document))
    hashed = request_hash(request)
    return Campaigns(database).create(request, request_hash=hashed, now=NOW).campaign_id


def fill(database: Database, statements: Sequence[str], parameters: dict[str, Any]) -> None:
    """Run statements that may take minutes, then leave the tables as a settled system has them."""
    database.fetch("SET statement_timeout = 0")
    for statement in statements:
        database.fetch(statement, parameters)
    database.fetch("VACUUM ANALYZE")
    # Otherwise the checkpoint of the filling would fall into somebody's round.
    database.fetch("CHECKPOINT")

"""Statuses in batches of a FIFO queue and of a standard one: ``python -m bench.ingest``.

The function is the deployed one, on a real Postgres; each message brings one status, as Meta's
webhooks mostly do. What is measured is what Lambda bills: the time of the function.
"""

import json
import sys
from contextlib import ExitStack
from random import Random
from typing import Any, Final

from bench.harness import (
    FILL_RECIPIENTS,
    NOW,
    NUMBER,
    Spread,
    arguments,
    conclude,
    fill,
    migrated,
    new_campaign,
    progress,
    ratios,
    say,
    server,
    timed,
)
from functions.status.handler import handle
from sluice.adapters.clock import SystemClock
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.statuses import Statuses
from sluice.adapters.postgres.stops import Stops
from sluice.domain.limits import SQS_BATCH_ENTRIES_MAX, STATUS_BATCH_MESSAGES
from sluice.domain.packing import to_json

BATCHES: Final = {"fifo": SQS_BATCH_ENTRIES_MAX, "standard": STATUS_BATCH_MESSAGES}
STATUSES: Final = ("sent", "delivered", "read")
SEED: Final = 20_261_201
FILL_DELIVERIES: Final = """
INSERT INTO delivery (campaign_id, seq, state, status, attempt, phone_number_id, accepted_at)
SELECT %(campaign_id)s, seq, 'done', 'accepted', 1, %(number)s, %(now)s
FROM generate_series(1, %(rows)s) AS seq
"""


class Silent:
    """Telemetry that says nothing: its lines would be most of what is measured at this size."""

    def report(self, *_: Any, **__: Any) -> None:
        """Say nothing."""

    def fail(self, message: str, error: BaseException, **_: Any) -> None:
        """Raise: nothing may fail here."""
        raise AssertionError(message) from error


def event(campaign_id: int, told: list[tuple[int, str]]) -> dict[str, Any]:
    """An invocation with one message for each (position, status)."""
    return {
        "Records": [
            {
                "messageId": f"{seq}-{status}",
                "body": to_json({"statuses": [_status(campaign_id, seq, status)]}),
            }
            for seq, status in told
        ]
    }


def _status(campaign_id: int, seq: int, status: str) -> dict[str, Any]:
    return {
        "id": f"wamid.{seq}",
        "status": status,
        "timestamp": str(int(NOW.timestamp())),
        "opaque": f"{campaign_id}:{seq}:1",
    }


def write(database: Database, campaign_id: int, told: list[tuple[int, str]], size: int) -> None:
    """Hand these statuses to the function, so many to an invocation."""
    for start in range(0, len(told), size):
        answer = handle(
            json.loads(json.dumps(event(campaign_id, told[start : start + size]))),
            statuses=Statuses(database),
            stops=Stops(database),
            parking=None,  # type: ignore[arg-type]  # nothing here is parked
            telemetry=Silent(),  # type: ignore[arg-type]
            clock=SystemClock(),
            dice=lambda: 0.5,
        )
        assert answer == {"batchItemFailures": []}, "everything is written"


def main() -> int:
    """Measure and print; there is no bar, the figures are for the bill."""
    options = arguments(__doc__, rows=3_000, rounds=6).parse_args()
    dice = Random(SEED)  # noqa: S311 - a shuffle
    seconds: dict[str, list[float]] = {name: [] for name in BATCHES}
    with ExitStack() as stack:
        database, _ = stack.enter_context(migrated(stack.enter_context(server()), "ingest"))
        shown = stack.enter_context(progress())
        task = shown.add_task("rounds", total=options.rounds)
        for number in range(options.rounds):
            for name, size in sorted(BATCHES.items(), reverse=bool(number % 2)):
                campaign_id = new_campaign(database, f"{name}-{number}")
                parameters = {
                    "campaign_id": campaign_id,
                    "rows": options.rows,
                    "number": NUMBER,
                    "now": NOW,
                }
                fill(database, (FILL_RECIPIENTS, FILL_DELIVERIES), parameters)
                told = [(seq, one) for one in STATUSES for seq in range(1, options.rows + 1)]
                dice.shuffle(told)
                took = timed(lambda: write(database, campaign_id, told, size))  # noqa: B023 - at once
                seconds[name].append(1_000 * took / len(told))
            shown.advance(task)
    milliseconds = {name: Spread(tuple(took)) for name, took in seconds.items()}
    for name, spread in milliseconds.items():
        say(f"{name:8} {BATCHES[name]:3} messages to a batch: {spread} ms a status")
    ratio = ratios(seconds["standard"], seconds["fifo"])
    say(f"standard takes {ratio} of fifo's time")
    figures = {f"{name}_ms": spread.as_json() for name, spread in milliseconds.items()}
    return conclude("ingest", {"rounds": options.rounds, **figures, "ratio": ratio.as_json()}, [])


if __name__ == "__main__":
    sys.exit(main())

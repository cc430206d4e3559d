"""What partitions cost, beside tables without: ``python -m bench.partitions``."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from time import perf_counter
from typing import Final

from bench.harness import (
    NOW,
    NUMBER,
    TEMPLATE,
    Bar,
    Spread,
    arguments,
    conclude,
    fill,
    migrated,
    progress,
    ratios,
    say,
    server,
)
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.claims import Claims
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.loads import Loads
from sluice.adapters.postgres.partitions import TABLES
from sluice.adapters.postgres.picks import Picks
from sluice.adapters.postgres.statuses import Statuses
from sluice.domain.audience import AudienceRow, Position
from sluice.domain.claim import Claimed, Key, Result
from sluice.domain.delivery import State, Status, StatusUpdate
from sluice.domain.requests import CampaignRequest

RATIO_MAX: Final = 1.15
APART: Final = 20
"""Other campaigns that lie apart."""
SEGMENT_ROWS: Final = 10_000
PICK_ROWS: Final = 2_000
SUB_BATCH: Final = 40
STATUS_BATCH: Final = 500
STEPS: Final = ("load", "pick", "claim", "record", "status")


class Place:
    """One campaign, wherever its rows lie, and the seconds of each step in each round."""

    def __init__(self, database: Database, *, large: bool) -> None:
        self._database = database
        self._id = new_campaign(database, "large" if large else "ordinary", large=large)
        self._claims = Claims(database, phone_number_id=NUMBER, lane="bulk")
        self._loads, self._picks = Loads(database), Picks(database)
        self._statuses = Statuses(database)
        self._position, self._leases = Position(), 0
        self.seconds: dict[str, list[float]] = {step: [] for step in STEPS}

    def round(self) -> Iterator[None]:
        """Load a segment, and send a part of it; each step gives way to the other places."""
        took = dict.fromkeys(STEPS, 0.0)
        first = self._position.line + 1
        rows = [_recipient(seq) for seq in range(first, first + SEGMENT_ROWS)]
        end = Position(self._position.offset + SEGMENT_ROWS, self._position.line + SEGMENT_ROWS)
        took["load"] += _timed(
            lambda: self._loads.store(self._id, rows, start=self._position, end=end, etag="etag")
        )
        self._position = end
        yield
        took["pick"] += _timed(self._pick)
        yield
        seqs = self._queued()
        for start in range(0, len(seqs), STATUS_BATCH):
            batch = seqs[start : start + STATUS_BATCH]
            for place in range(0, len(batch), SUB_BATCH):
                yield from self._send(batch[place : place + SUB_BATCH], took)
            took["status"] += _timed(lambda: self._apply(batch))  # noqa: B023 - called at once
            yield
        for step, seconds in took.items():
            self.seconds[step].append(seconds)

    def _pick(self) -> None:
        with self._picks.round(now=NOW) as current:
            assert current is not None
            chunks = current.pick(NUMBER, "bulk", self._id, rows=PICK_ROWS, size=100)
        self._picks.published(chunks)

    def _queued(self) -> list[int]:
        query = "SELECT seq FROM delivery WHERE campaign_id = %s AND state = 'queued' ORDER BY 1"
        return [seq for (seq,) in self._database.fetch(query, (self._id,))]

    def _send(self, seqs: list[int], took: dict[str, float]) -> Iterator[None]:
        self._leases += 1
        lease = NOW + timedelta(seconds=60, microseconds=self._leases)
        claimed: list[Claimed] = []
        keys = [Key(self._id, seq) for seq in seqs]
        took["claim"] += _timed(
            lambda: claimed.extend(self._claims.claim(keys, now=NOW, lease=lease).rows)
        )
        assert len(claimed) == len(seqs), "nobody else claims here"
        yield
        results = [_accepted(row) for row in claimed]
        took["record"] += _timed(
            lambda: self._claims.record(results, now=NOW, patience_seconds=1.0)
        )
        yield

    def _apply(self, seqs: list[int]) -> None:
        updates = [
            StatusUpdate(self._id, seq, 1, Status.DELIVERED, NOW, NOW, None, None, None, "wamid")
            for seq in seqs
        ]
        applied = self._statuses.apply(updates, retries={}, failures=[], now=NOW)
        assert applied.reached == len(seqs), "every status finds its row"


def new_campaign(database: Database, name: str, *, large: bool) -> int:
    """Publish a campaign without an audience and return its campaign_id."""
    document = {
        "campaign": name,
        "template": TEMPLATE,
        "numbers": [NUMBER],
        "audience": {"s3": "s3://audiences/people.csv"},
    }
    request = CampaignRequest.model_validate_json(json.dumps(document))
    stored = Campaigns(database).create(request, request_hash="", now=NOW, large=large)
    return stored.campaign_id


def _recipient(seq: int) -> AudienceRow:
    parameters = {"name": f"Person {seq}", "clinic": "City Clinic"}
    return AudienceRow(seq, f"+4915{100_000_000 + seq}", parameters, None, None)


def _accepted(row: Claimed) -> Result:
    wamid = f"wamid.HBgLNDkxNTE1NTAwMDAwMBUCABEYEjcy{row.key.campaign_id:010}{row.key.seq:012}"
    return Result(
        row.key, row.attempt, row.lease, State.DONE, Status.ACCEPTED, due_at=None, wamid=wamid
    )


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def places(stack: ExitStack) -> dict[str, Place]:
    """Tables as they would be without partitions, the shared partition, and one of its own."""
    postgres = stack.enter_context(server())
    plain, _ = stack.enter_context(migrated(postgres, "plain"))
    for table in TABLES:
        plain.fetch(f"ALTER TABLE {table} DETACH PARTITION {table}_shared")
        plain.fetch(f"DROP TABLE {table}")
        plain.fetch(f"CREATE VIEW {table} AS TABLE {table}_shared")
    parted, _ = stack.enter_context(migrated(postgres, "parted"))
    for place in range(APART):
        campaign_id = new_campaign(parted, f"other-{place}", large=True)
        rows = [_recipient(seq) for seq in range(1, 1_001)]
        end = Position(1_000, 1_000)
        Loads(parted).store(campaign_id, rows, start=Position(), end=end, etag="etag")
    fill(parted, (), {})
    return {
        "plain": Place(plain, large=False),
        "shared": Place(parted, large=False),
        "apart": Place(parted, large=True),
    }


def main() -> int:
    """Measure, print and judge."""
    options = arguments(__doc__, rows=SEGMENT_ROWS, rounds=10).parse_args()
    with ExitStack() as stack:
        found = places(stack)
        shown = stack.enter_context(progress())
        task = shown.add_task("rounds", total=options.rounds)
        for turn in range(options.rounds):
            order = list(found.values())
            order = order[turn % 3 :] + order[: turn % 3]
            for _ in zip(*(place.round() for place in order), strict=True):
                pass
            shown.advance(task)
    figures: dict[str, object] = {"rounds": options.rounds, "apart": APART}
    bars = []
    for step in STEPS:
        milliseconds = {
            name: Spread(tuple(1_000 * one for one in place.seconds[step]))
            for name, place in found.items()
        }
        say(f"{step:7} " + ", ".join(f"{name} {one} ms" for name, one in milliseconds.items()))
        for name in ("shared", "apart"):
            spread = ratios(found[name].seconds[step], found["plain"].seconds[step])
            figures[f"{step}_{name}"] = spread.as_json()
            bar = f"{step}, {name}: within {RATIO_MAX} x of tables without partitions"
            bars.append(Bar(bar, spread.median <= RATIO_MAX, str(spread)))
    return conclude("partitions", figures, bars)


if __name__ == "__main__":
    sys.exit(main())

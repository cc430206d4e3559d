"""Status updates beside a bare UPDATE and beside row by row: ``python -m bench.status``."""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import monotonic
from typing import Final

from bench.harness import (
    NOW,
    NUMBER,
    Bar,
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
)
from local.postgres import Postgres
from local.system import database_of
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.statuses import Statuses
from sluice.domain.delivery import Status, StatusUpdate, reduce_updates
from sluice.steps.status import latest_attempts

BATCH: Final = 500
WRITERS: Final = 2
SINGLES: Final = 1_500
"""Statuses that each writer writes row by row in a round."""
STOP_SECONDS_MAX: Final = 5.0
ROWS_PER_SECOND_MIN: Final = 40_000
BARE_FACTOR_MAX: Final = 2.0
SINGLE_FACTOR_MIN: Final = 10.0
SEED: Final = 20_261_201
WAYS: Final = ("engine", "untriggered", "bare", "single")
FILL_DELIVERIES: Final = """
INSERT INTO delivery (campaign_id, seq, state, status, attempt, phone_number_id, accepted_at)
SELECT %(campaign_id)s, seq, 'done', 'accepted', 1, %(number)s, %(now)s
FROM generate_series(1, %(rows)s) AS seq
"""
UNTRIGGERED: Final = "ALTER TABLE delivery_shared DISABLE TRIGGER USER"
BARE: Final = """
UPDATE delivery_shared AS d
SET status = GREATEST(d.status, news.status),
    sent_at = LEAST(d.sent_at, news.sent_at),
    delivered_at = LEAST(d.delivered_at, news.delivered_at),
    read_at = LEAST(d.read_at, news.read_at)
FROM unnest(
    %(campaign_ids)s::int[], %(seqs)s::int[], %(statuses)s::delivery_status[],
    %(sent_ats)s::timestamptz[], %(delivered_ats)s::timestamptz[], %(read_ats)s::timestamptz[]
) AS news (campaign_id, seq, status, sent_at, delivered_at, read_at)
WHERE d.campaign_id = news.campaign_id AND d.seq = news.seq
"""
SINGLE: Final = b"""
UPDATE delivery_shared
SET status = GREATEST(status, %s), sent_at = LEAST(sent_at, %s),
    delivered_at = LEAST(delivered_at, %s), read_at = LEAST(read_at, %s)
WHERE campaign_id = %s AND seq = %s
"""
UPDATES: Final = """
SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'delivery_shared'
"""
Batches = list[list[StatusUpdate]]


@dataclass(frozen=True)
class Work:
    """What a writer must know; it goes to a process of its own."""

    urls: dict[str, str]
    """Of a database for each way."""
    rows: int
    rounds: int
    writer: int


def batches_of(work: Work) -> list[Batches]:
    """Three shuffled statuses of each of the writer's rows, as batches, a list for each round.

    A row always comes to the same writer, as the groups of statuses.fifo have it.
    """
    dice = random.Random(SEED + work.writer)  # noqa: S311 - the same order every time
    mine = range(1 + work.writer, work.rows + 1, WRITERS)
    everything = [_update(seq, status) for seq in mine for status in _STATUSES]
    dice.shuffle(everything)
    size = -(-len(everything) // work.rounds)
    return [
        [
            latest_attempts(reduce_updates(everything[first : first + BATCH]))
            for first in range(start, min(start + size, len(everything)), BATCH)
        ]
        for start in range(0, len(everything), size)
    ]


_STATUSES: Final = (Status.SENT, Status.DELIVERED, Status.READ)


def _update(seq: int, status: Status) -> StatusUpdate:
    at = NOW + timedelta(seconds=int(status))
    sent, delivered, read = (at if status is one else None for one in _STATUSES)
    return StatusUpdate(1, seq, 1, status, sent, delivered, read, None, None, f"wamid.{seq}")


def write(work: Work, pipe: Connection) -> None:
    """Be a writer: on each order ``(way, round)`` write, and answer (began, ended, updates)."""
    rounds = batches_of(work)
    databases = {way: database_of(url) for way, url in work.urls.items()}
    statuses = {way: Statuses(databases[way]) for way in ("engine", "untriggered")}
    ways: dict[str, Callable[[Batches], int]] = {
        "engine": lambda batches: _write(statuses["engine"], batches),
        "untriggered": lambda batches: _write(statuses["untriggered"], batches),
        "bare": lambda batches: _write_bare(databases["bare"], batches),
        "single": lambda batches: _write_singly(databases["bare"], batches),
    }
    for database in databases.values():
        database.fetch("SELECT 1")
    pipe.send("ready")
    while order := pipe.recv():
        way, place = order
        began = monotonic()
        updates = ways[way](rounds[place])
        pipe.send((began, monotonic(), updates))


def _write(statuses: Statuses, batches: Batches) -> int:
    return sum(
        statuses.apply(one, retries={}, failures=[], now=datetime(2026, 1, 1, tzinfo=UTC)).reached
        for one in batches
    )


def _write_bare(database: Database, batches: Batches) -> int:
    for batch in batches:
        database.fetch(BARE, _columns(batch))
    return sum(map(len, batches))


def _write_singly(database: Database, batches: Batches) -> int:
    updates = [update for batch in batches for update in batch][:SINGLES]
    connection = database.run(lambda live: live)
    for one in updates:
        times = (one.sent_at, one.delivered_at, one.read_at)
        values = (one.status.label, *times, one.campaign_id, one.seq)
        connection.execute(SINGLE, values, prepare=True)
    return len(updates)


def _columns(updates: Sequence[StatusUpdate]) -> dict[str, list[object]]:
    return {
        "campaign_ids": [update.campaign_id for update in updates],
        "seqs": [update.seq for update in updates],
        "statuses": [update.status.label for update in updates],
        "sent_ats": [update.sent_at for update in updates],
        "delivered_ats": [update.delivered_at for update in updates],
        "read_ats": [update.read_at for update in updates],
    }


class Writers:
    """Processes with a connection each for each way."""

    def __init__(self, pipes: Sequence[Connection]) -> None:
        self._pipes = pipes
        self.updates: Counter[str] = Counter()

    def rows_per_second(self, way: str, place: int) -> float:
        """Let all write at once, and return what they reach together."""
        for pipe in self._pipes:
            pipe.send((way, place))
        answers = [pipe.recv() for pipe in self._pipes]
        seconds = max(ended for _, ended, _ in answers) - min(began for began, _, _ in answers)
        updates = sum(updates for _, _, updates in answers)
        self.updates[way] += updates
        return float(updates / seconds)


@contextmanager
def writers(urls: dict[str, str], *, rows: int, rounds: int) -> Iterator[Writers]:
    """Start the writers, and end them."""
    context = get_context("spawn")
    pipes, processes = [], []
    for writer in range(WRITERS):
        ours, theirs = context.Pipe()
        work = Work(urls, rows, rounds, writer)
        process = context.Process(target=write, args=(work, theirs), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        for pipe in pipes:
            pipe.recv()
        yield Writers(pipes)
    finally:
        for pipe, process in zip(pipes, processes, strict=True):
            with suppress(OSError):
                pipe.send(None)
            process.join(STOP_SECONDS_MAX)
            process.terminate()


class Meter:
    """What the server says of the engine's table: updates, HOT ones, and bytes of WAL."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.wal_bytes = 0
        self._wal = self._position()
        self._updates, self._hot = self._counted()

    def begin(self) -> None:
        """The engine writes from here on."""
        self._wal = self._position()

    def end(self) -> None:
        """Up to here."""
        self.wal_bytes += self._position() - self._wal

    def hot_share(self) -> float:
        """Of the updates since the beginning; the writers must have gone."""
        updates, hot = self._counted()
        return (hot - self._hot) / (updates - self._updates)

    def _position(self) -> int:
        rows = self._database.fetch("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        return int(rows[0][0])

    def _counted(self) -> tuple[int, int]:
        self._database.fetch("SELECT pg_stat_force_next_flush()")
        updates, hot = self._database.fetch(UPDATES)[0]
        return int(updates), int(hot)


def filled(postgres: Postgres, way: str, rows: int, stack: ExitStack) -> tuple[Database, str]:
    """A database with a campaign whose messages were all accepted."""
    database, url = stack.enter_context(migrated(postgres, way))
    campaign_id = new_campaign(database, "statuses")
    assert campaign_id == 1, "the statuses are of this campaign"
    parameters = {"campaign_id": campaign_id, "rows": rows, "number": NUMBER, "now": NOW}
    fill(database, (FILL_DELIVERIES,), parameters)
    if way != "engine":
        database.fetch(UNTRIGGERED)
    return database, url


def main() -> int:
    """Measure, print and judge."""
    options = arguments(__doc__, rows=300_000, rounds=6).parse_args()
    speeds: dict[str, list[float]] = {way: [] for way in WAYS}
    with ExitStack() as stack:
        postgres = stack.enter_context(server())
        shown = stack.enter_context(progress())
        task = shown.add_task("filling", total=options.rounds)
        databases = {way: filled(postgres, way, options.rows, stack) for way in WAYS[:3]}
        urls = {way: url for way, (_, url) in databases.items()}
        meter = Meter(databases["engine"][0])
        with writers(urls, rows=options.rows, rounds=options.rounds) as crew:
            shown.update(task, description="rounds")
            for place in range(options.rounds):
                # Nobody is always first, or always after the one who fills the cache.
                for way in (*WAYS[place % 3 : 3], *WAYS[: place % 3], WAYS[3]):
                    meter.begin()
                    speeds[way].append(crew.rows_per_second(way, place))
                    if way == "engine":
                        meter.end()
                shown.advance(task)
        hot, wal_per_update = meter.hot_share(), meter.wal_bytes / crew.updates["engine"]
    return _conclude(speeds, options.rows, hot, wal_per_update)


def _conclude(speeds: dict[str, list[float]], rows: int, hot: float, wal_per_update: float) -> int:
    speed = {way: Spread(tuple(values)) for way, values in speeds.items()}
    slower = ratios(speeds["bare"], speeds["engine"])
    faster = ratios(speeds["engine"], speeds["single"])
    trigger = ratios(speeds["untriggered"], speeds["engine"])
    for way, spread in speed.items():
        say(f"{way:12} {spread} rows/s")
    say(f"the trigger makes it {trigger} x slower")
    say(f"HOT {hot:.1%}, {wal_per_update:.0f} bytes of WAL an update")
    figures = {
        "rows": rows,
        "rounds": len(speeds["engine"]),
        "rows_per_second": {way: spread.as_json() for way, spread in speed.items()},
        "bare_over_engine": slower.as_json(),
        "engine_over_single": faster.as_json(),
        "untriggered_over_engine": trigger.as_json(),
        "hot_share": round(hot, 4),
        "wal_bytes_per_update": round(wal_per_update),
    }
    fastest = speed["engine"]
    bars = [
        Bar("40,000 rows/s", fastest.median >= ROWS_PER_SECOND_MIN, f"{fastest} rows/s"),
        Bar("within 2 x of a bare UPDATE", slower.median <= BARE_FACTOR_MAX, f"{slower} x"),
        Bar("10 x row by row", faster.median >= SINGLE_FACTOR_MIN, f"{faster} x"),
    ]
    return conclude("status", figures, bars)


if __name__ == "__main__":
    sys.exit(main())

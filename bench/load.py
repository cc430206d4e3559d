"""The audience load beside a bare COPY of the same rows: ``python -m bench.load``."""

import gc
import io
import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import psycopg

from bench.harness import (
    NOW,
    NUMBER,
    Bar,
    Spread,
    arguments,
    conclude,
    migrated,
    new_campaign,
    progress,
    ratios,
    say,
    server,
    timed,
)
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.loads import COPY_DELIVERIES, COPY_RECIPIENTS, Loads
from sluice.adapters.postgres.partitions import in_partition
from sluice.domain.addresses import calling_code_of
from sluice.domain.audience import AudienceRow, CsvHeader, Position, Row, Wanted, csv_rows
from sluice.domain.limits import LOAD_SEGMENT_ROWS
from sluice.domain.suppressions import match_key

SHARE_MIN: Final = 0.60
BLOCK_LINES: Final = 1_000
COLUMNS: Final = ("address", "name", "clinic", "date", "note")
BARE: Final = """
CREATE TABLE bare (LIKE recipient_shared INCLUDING ALL);
CREATE TABLE bare_delivery (LIKE delivery_shared INCLUDING ALL);
"""
COPY_BARE: Final = "COPY bare (campaign_id, seq, address, match_key, parameters) FROM STDIN"
COPY_BARE_DELIVERY: Final = "COPY bare_delivery (campaign_id, seq, state, due_at) FROM STDIN"
EMPTY: Final = "TRUNCATE bare, bare_delivery, recipient, delivery, rejected, campaign_counter"
TABLES: Final = "TRUNCATE recipient, delivery, campaign_counter"
Connection = psycopg.Connection[tuple[Any, ...]]


def audience(people: int) -> bytes:
    """A CSV of people with different addresses, a column of which is in no template."""
    lines = (
        f'+4915{100_000_000 + place},"Person, {place}",Health Post {place % 97},2026-12-07,\r\n'
        for place in range(people)
    )
    return (",".join(COLUMNS) + "\r\n" + "".join(lines)).encode()


class Load:
    """One audience, loaded by the engine, by its stages alone, and by a bare COPY."""

    def __init__(self, database: Database, content: bytes) -> None:
        self._database = database
        self._content = content
        self._wanted = Wanted(frozenset({"name", "clinic", "date"}), (NUMBER,))
        self._campaigns = 0
        self._rows = [row for row in self.parse(Position()) if isinstance(row, AudienceRow)]
        self._recipients = _blocks([_line(row) for row in self._rows])
        self._deliveries = _blocks([f"1\t{row.seq}\tpending\t{NOW}\n" for row in self._rows])
        database.fetch(BARE)

    def parse(self, position: Position) -> Iterator[Row]:
        """Parse and validate, as the campaign step does."""
        lines = iter(io.BytesIO(self._content))
        first = next(lines)
        header = CsvHeader.parse(first, self._wanted)
        assert isinstance(header, CsvHeader)
        position.offset, position.line = len(first), 1
        return csv_rows(lines, header, self._wanted, position)

    def engine(self) -> tuple[float, float]:
        """Return the seconds of the whole load, and those of its end alone."""
        self._campaigns += 1
        campaign_id = new_campaign(self._database, f"load-{self._campaigns}")
        loads = Loads(self._database)

        def segments() -> None:
            stored, position = Position(), Position()
            rows = self.parse(position)
            while segment := list(islice(rows, LOAD_SEGMENT_ROWS)):
                end = Position(position.offset, position.line)
                moved = loads.store(campaign_id, segment, start=stored, end=end, etag="etag")
                assert moved, "nobody else loads this campaign"
                stored = end

        loading = timed(segments)
        sealing = timed(lambda: loads.seal(campaign_id, now=NOW))
        counted = self._database.fetch("SELECT sum(deliveries)::bigint FROM campaign_counter")
        assert counted == [(len(self._rows),)], "every row is loaded and counted"
        return loading + sealing, sealing

    def parsing(self) -> float:
        """Parse and validate into nothing."""
        return timed(lambda: sum(1 for _ in self.parse(Position())))

    def recipients(self) -> float:
        """Copy the recipients as the engine does, row by row of Python values."""
        return self._copied(in_partition(COPY_RECIPIENTS, 1), _recipient)

    def deliveries(self) -> float:
        """Copy the deliveries as the engine does, with the counting trigger."""
        return self._copied(in_partition(COPY_DELIVERIES, 1), _delivery)

    def bare(self) -> float:
        """Copy ready-made lines into a table of the shape of ``recipient``."""
        return self._copied_barely(COPY_BARE, self._recipients)

    def bare_deliveries(self) -> float:
        """Copy ready-made lines into a table of the shape of ``delivery``, with its indexes."""
        return self._copied_barely(COPY_BARE_DELIVERY, self._deliveries)

    def empty(self) -> None:
        """Make room; what was written before must not be flushed in somebody's time."""
        self._database.fetch(EMPTY)
        self._database.fetch("CHECKPOINT")

    def _copied_barely(self, statement: str, blocks: list[str]) -> float:
        def work(connection: Connection) -> None:
            with connection.cursor() as cursor, cursor.copy(statement) as copy:
                for block in blocks:
                    copy.write(block)

        return timed(lambda: self._database.run(work))

    def _copied(self, statement: str, values: Callable[[AudienceRow], tuple[Any, ...]]) -> float:
        """Segment by segment, because a transaction of its own costs."""

        def work(connection: Connection) -> None:
            rows = iter(self._rows)
            while segment := list(islice(rows, LOAD_SEGMENT_ROWS)):
                with connection.cursor() as cursor, cursor.copy(statement) as copy:
                    for row in segment:
                        copy.write_row(values(row))

        seconds = timed(lambda: self._database.run(work))
        self._database.fetch(TABLES)
        return seconds


def _recipient(row: AudienceRow) -> tuple[Any, ...]:
    parameters = json.dumps(row.parameters, ensure_ascii=False)
    return (1, row.seq, row.address, match_key(row.address), parameters)


def _delivery(row: AudienceRow) -> tuple[Any, ...]:
    code, number = calling_code_of(row.address), row.phone_number_id
    return (1, row.seq, "pending", code, bool(number), number, 0, row.variant or None, NOW)


def _blocks(lines: list[str]) -> list[str]:
    starts = range(0, len(lines), BLOCK_LINES)
    return ["".join(lines[start : start + BLOCK_LINES]) for start in starts]


def _line(row: AudienceRow) -> str:
    parameters = json.dumps(row.parameters, ensure_ascii=False).replace("\\", "\\\\")
    return f"1\t{row.seq}\t{row.address}\t{match_key(row.address)}\t{parameters}\n"


def main() -> int:
    """Measure, print and judge."""
    options = arguments(__doc__, rows=200_000, rounds=5).parse_args()
    stages: dict[str, list[float]] = {
        name: []
        for name in ("engine", "bare", "bare_delivery", "parse", "recipient", "delivery", "seal")
    }
    with server() as postgres, migrated(postgres, "load") as (database, _), progress() as shown:
        task = shown.add_task("rounds", total=options.rounds)
        load = Load(database, audience(options.rows))
        # What the bench itself keeps is no work of the engine's garbage collector.
        gc.freeze()
        for _ in range(options.rounds):
            load.empty()
            stages["bare"].append(load.bare())
            stages["bare_delivery"].append(load.bare_deliveries())
            whole, sealing = load.engine()
            stages["engine"].append(whole)
            stages["seal"].append(sealing)
            load.empty()
            stages["parse"].append(load.parsing())
            stages["recipient"].append(load.recipients())
            stages["delivery"].append(load.deliveries())
            shown.advance(task)
    share = ratios(stages["bare"], stages["engine"])
    both = [sum(pair) for pair in zip(stages["bare"], stages["bare_delivery"], strict=True)]
    share_of_both = ratios(both, stages["engine"])
    seconds = {name: Spread(tuple(values)) for name, values in stages.items()}
    for name, spread in seconds.items():
        say(f"{name:14} {spread} s, {options.rows / spread.median:,.0f} rows/s")
    say(f"of a bare COPY into both tables: {share_of_both}")
    figures = {
        "rows": options.rows,
        "rounds": options.rounds,
        "rows_per_second": round(options.rows / seconds["engine"].median),
        "bare_rows_per_second": round(options.rows / seconds["bare"].median),
        "share_of_bare": share.as_json(),
        "share_of_bare_both": share_of_both.as_json(),
        "seconds": {name: spread.as_json() for name, spread in seconds.items()},
    }
    return conclude(
        "load", figures, [Bar("60 % of a bare COPY", share.median >= SHARE_MIN, f"{share} of it")]
    )


if __name__ == "__main__":
    sys.exit(main())

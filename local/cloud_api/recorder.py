"""Writes the ledger: rows are gathered and committed together, by a thread of their own."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from local.cloud_api.ledger import SCHEMA, Request, Said, Status, summary

COMMIT_SECONDS_MAX: Final = 0.05
_STALL_SECONDS_MIN: Final = 0.01

_Rows = tuple[list[Request], list[Status], list[tuple[float, float]], list[Said]]


class Recorder:
    """The one writer of a ledger file, which is created if absent and continued if not."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=OFF")
        self._connection.executescript(SCHEMA)
        [(last_id,)] = self._connection.execute("SELECT coalesce(max(id), 0) FROM request")
        self._last_id: int = last_id
        counts = summary(path)
        self._requests: dict[str, dict[str, int]] = counts["requests"]
        self._statuses: dict[str, int] = counts["statuses"]
        self._waiting: _Rows = ([], [], [], [])
        self._recorded = self._committed = 0
        self._wanted = asyncio.Event()
        self._turn = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "ledger")

    def next_id(self) -> int:
        """A request id that the ledger has never had."""
        self._last_id += 1
        return self._last_id

    def request(self, row: Request) -> None:
        """Record a judged request."""
        self._waiting[0].append(row)
        self._recorded += 1
        verdicts = self._requests.setdefault(row.phone_number_id, {})
        verdicts[row.verdict] = verdicts.get(row.verdict, 0) + 1

    def status(self, row: Status) -> None:
        """Record a status that the webhook acknowledged."""
        self._waiting[1].append(row)
        self._recorded += 1
        self._statuses[row.status] = self._statuses.get(row.status, 0) + 1

    def stall(self, at: float, seconds: float) -> None:
        """Record that the clock was late, if it was enough to matter."""
        if seconds >= _STALL_SECONDS_MIN:
            self._waiting[2].append((at, seconds))
            self._recorded += 1

    def said(self, row: Said) -> None:
        """Record a message of a person."""
        self._waiting[3].append(row)
        self._recorded += 1

    def counts(self) -> dict[str, Any]:
        """As `ledger.summary`, from memory."""
        return {"requests": self._requests, "statuses": self._statuses}

    async def committed(self) -> None:
        """Wait until everything recorded so far is in the file."""
        target = self._recorded
        while self._committed < target:
            self._wanted.set()
            await self._turn.wait()

    async def run(self) -> None:
        """Commit for ever: at once when somebody waits, else every 50 ms."""
        while True:
            try:
                async with asyncio.timeout(COMMIT_SECONDS_MAX):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()
            await self._commit()

    async def close(self) -> None:
        """Commit the rest and close the file; `run` must have ended."""
        await self._commit()
        self._thread.shutdown()
        self._connection.close()

    async def _commit(self) -> None:
        rows, self._waiting = self._waiting, ([], [], [], [])
        if not any(rows):
            return
        written = asyncio.get_running_loop().run_in_executor(self._thread, self._write, rows)
        await asyncio.shield(written)
        self._committed += sum(len(part) for part in rows)
        turn, self._turn = self._turn, asyncio.Event()
        turn.set()

    def _write(self, rows: _Rows) -> None:
        requests, statuses, stalls, said = rows
        execute = self._connection.executemany
        self._connection.execute("BEGIN")
        execute("INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", requests)
        execute("INSERT INTO status VALUES (NULL, ?, ?, ?, ?, ?, ?)", statuses)
        execute("INSERT INTO stall VALUES (?, ?)", stalls)
        execute("INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)", said)
        self._connection.execute("COMMIT")

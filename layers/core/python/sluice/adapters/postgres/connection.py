"""One connection for each environment, reopened when it is dead."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import random
from typing import Any, TypeVar

import psycopg
from psycopg import OperationalError
from psycopg.errors import ReadOnlySqlTransaction

Result = TypeVar("Result")

PATIENCE_SECONDS = 4.0
"""How long a call outlasts a deadlock or a lock before it raises."""
AWAY_SECONDS = 20.0
"""How long it outlasts a server that is away: longer than Aurora needs to resume from a pause
(about 15 s; 30 s after a day) and than most failovers. The shortest function has 30 s."""
AWAY_AGAIN_SECONDS = 60.0
"""So long after that other calls wait for PATIENCE_SECONDS only: an invocation has several."""
CONNECT_SECONDS_MIN = 2
"""The least that libpq waits for a connection."""

# A sender that vanishes must not hold its locks until TCP gives up, on either side.
_KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_SESSION = (
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
    " -c lock_timeout=10s -c statement_timeout=60s -c timezone=UTC"
    # On Aurora's storage a page costs the same wherever it lies: indexes, not scans.
    " -c random_page_cost=1.1"
)


class DatabaseAwayError(RuntimeError):
    """The database could not be reached, or did not answer, for as long as we may wait."""


class Database:
    """Runs work on the one connection; each call may run its work again, so work is idempotent.

    ``parameters`` are psycopg's, asked for at each connect because an IAM token lives 15 minutes.
    """

    def __init__(self, parameters: Callable[[], dict[str, Any]]) -> None:
        self._parameters = parameters
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._away_at = -math.inf
        self._give_up_at_latest = math.inf

    def give_up_at_latest(self, monotonic_seconds: float) -> None:
        """Let no call that names no patience wait for a server that is away beyond this."""
        self._give_up_at_latest = monotonic_seconds

    def run(
        self,
        work: Callable[[psycopg.Connection[tuple[Any, ...]]], Result],
        *,
        patience_seconds: float | None = None,
    ) -> Result:
        """Do ``work`` on a live connection, again after a lost one or a deadlock.

        Raises DatabaseAwayError when the database stays away for the patience given, or for about
        AWAY_SECONDS.
        """
        began = time.monotonic()
        given = PATIENCE_SECONDS if patience_seconds is None else patience_seconds
        away_until = self._away_until(began) if patience_seconds is None else began + given
        delay_seconds = 0.05
        while True:
            try:
                return work(self._live(away_until))
            except (OperationalError, ReadOnlySqlTransaction) as error:
                lost = self._discard_if_broken(error)
                now = time.monotonic()
                if now + delay_seconds > (away_until if lost else began + given):
                    self._away_at = now if lost else self._away_at
                    raise DatabaseAwayError(type(error).__name__) from error
                time.sleep(delay_seconds * random())  # noqa: S311 - jitter, not a secret
                delay_seconds = min(delay_seconds * 2, 1.0)

    def fetch(
        self,
        statement: str,
        parameters: Sequence[Any] | dict[str, Any] = (),
        *,
        patience_seconds: float | None = None,
    ) -> list[tuple[Any, ...]]:
        """Run one statement in a transaction of its own and return its rows."""

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

        return self.run(work, patience_seconds=patience_seconds)

    @contextmanager
    def lent(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Lend the live connection to work that is not done again; one that fails is let go of."""
        connection = self.run(lambda live: live)
        try:
            yield connection
        except (OperationalError, ReadOnlySqlTransaction) as error:
            self._discard_if_broken(error)
            raise

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _away_until(self, now: float) -> float:
        again = now < self._away_at + AWAY_AGAIN_SECONDS
        latest = now + (PATIENCE_SECONDS if again else AWAY_SECONDS)
        return max(now, min(latest, self._give_up_at_latest))

    def _live(self, away_until: float) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            # A server that accepts and says nothing is given up as one that is not there.
            seconds = math.ceil(away_until - time.monotonic())
            self._connection = psycopg.connect(
                autocommit=True,
                connect_timeout=max(CONNECT_SECONDS_MIN, seconds),
                target_session_attrs="read-write",
                options=_SESSION,
                application_name="sluice",
                **_KEEPALIVES,
                **self._parameters(),
            )
        return self._connection

    def _discard_if_broken(self, error: Exception) -> bool:
        """Let go of a connection that is of no use; return whether there is none any more."""
        connection = self._connection
        # After a failover the old writer answers, and only reads.
        demoted = isinstance(error, ReadOnlySqlTransaction)
        if connection is not None and (connection.closed or connection.broken or demoted):
            connection.close()
            self._connection = None
        return self._connection is None

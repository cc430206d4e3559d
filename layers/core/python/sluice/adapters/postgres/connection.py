"""One connection for each environment, reopened when it is dead."""

import time
from collections.abc import Callable, Sequence
from random import random
from typing import Any, TypeVar

import psycopg
from psycopg import OperationalError
from psycopg.errors import ReadOnlySqlTransaction

Result = TypeVar("Result")

CONNECT_TIMEOUT_SECONDS = 20
"""Longer than Aurora needs to resume from a pause (about 15 s)."""
PATIENCE_SECONDS = 4.0
"""How long a call outlasts a failover or a deadlock before it raises."""

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

    def run(
        self,
        work: Callable[[psycopg.Connection[tuple[Any, ...]]], Result],
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Result:
        """Do ``work`` on a live connection, again after a lost one or a deadlock.

        Raises DatabaseAwayError when the database stays away for the patience given.
        """
        give_up_at = time.monotonic() + patience_seconds
        delay_seconds = 0.05
        while True:
            try:
                return work(self._live())
            except (OperationalError, ReadOnlySqlTransaction) as error:
                self._discard_if_broken(error)
                if time.monotonic() + delay_seconds > give_up_at:
                    raise DatabaseAwayError(type(error).__name__) from error
                time.sleep(delay_seconds * random())  # noqa: S311 - jitter, not a secret
                delay_seconds = min(delay_seconds * 2, 1.0)

    def fetch(
        self,
        statement: str,
        parameters: Sequence[Any] | dict[str, Any] = (),
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> list[tuple[Any, ...]]:
        """Run one statement in a transaction of its own and return its rows."""

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

        return self.run(work, patience_seconds=patience_seconds)

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _live(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT_SECONDS,
                target_session_attrs="read-write",
                options=_SESSION,
                application_name="sluice",
                **_KEEPALIVES,
                **self._parameters(),
            )
        return self._connection

    def _discard_if_broken(self, error: Exception) -> None:
        connection = self._connection
        # After a failover the old writer answers, and only reads.
        demoted = isinstance(error, ReadOnlySqlTransaction)
        if connection is not None and (connection.closed or connection.broken or demoted):
            connection.close()
            self._connection = None

"""Where the rows of a campaign lie: with those of the others, or in partitions of its own."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, TypeVar

import psycopg
from psycopg.errors import UndefinedTable
from psycopg.pq import TransactionStatus

from sluice.adapters.postgres.connection import Database

APART_FROM: Final = 1_000_000_000
"""Campaigns with ids from here on have partitions of their own."""
TABLES: Final = ("delivery", "recipient", "message", "delivery_error", "rejected")
"""Tables that have partitions."""

_NAMED: Final = re.compile(
    rf"\b(FROM|JOIN|UPDATE|INTO|COPY)(\s+)({'|'.join(TABLES)})\b(?=(\s+AS\b)?)"
)

Item = TypeVar("Item")
Connection = psycopg.Connection[tuple[Any, ...]]


def in_partition(statement: str, campaign_id: int) -> str:
    """The statement about one campaign, with the partitions named that have its rows.

    Planning over all partitions would cost more than the statement. All campaigns of a statement
    must lie together: see ``split``.
    """
    return _in(statement, partition_of(campaign_id))


def partition_of(campaign_id: int) -> str:
    """What ends the names of the campaign's partitions."""
    return str(campaign_id) if campaign_id >= APART_FROM else "shared"


def split(items: Iterable[Item], campaign_id: Callable[[Item], int]) -> list[Sequence[Item]]:
    """Items sorted by campaign, in groups that lie in the same partitions."""
    groups = groupby(items, lambda item: partition_of(campaign_id(item)))
    return [list(group) for _, group in groups]


def execute_in(
    connection: Connection, statement: str, campaign_id: int, parameters: dict[str, Any]
) -> psycopg.Cursor[tuple[Any, ...]]:
    """Run a statement in the partitions of its campaigns.

    Where they are gone, it runs on the whole, and finds nothing: a late status, a late chunk.
    """
    named = in_partition(statement, campaign_id).encode()
    if campaign_id < APART_FROM:
        return connection.execute(named, parameters)
    idle = connection.info.transaction_status == TransactionStatus.IDLE
    try:
        if idle:
            return connection.execute(named, parameters)
        with connection.transaction():
            return connection.execute(named, parameters)
    except UndefinedTable:
        return connection.execute(statement.encode(), parameters)


def fetch_in(
    database: Database, statement: str, campaign_id: int, parameters: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """Run one statement likewise, in a transaction of its own, and return its rows."""

    def work(connection: Connection) -> list[tuple[Any, ...]]:
        cursor = execute_in(connection, statement, campaign_id, parameters)
        return cursor.fetchall() if cursor.description else []

    return database.run(work)


@lru_cache(maxsize=1_000)
def _in(statement: str, partition: str) -> str:
    def named(found: re.Match[str]) -> str:
        verb, space, table, alias = found.groups()
        keeps = verb in ("INTO", "COPY") or alias
        return f"{verb}{space}{table}_{partition}" + ("" if keeps else f" AS {table}")

    return _NAMED.sub(named, statement)

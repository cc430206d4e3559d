"""Forward-only migrations: numbered SQL files, each applied once, under a lock."""

from importlib import resources

import psycopg

from sluice.adapters.postgres.connection import Database

# Any constant will do: it only keeps two deployments from migrating at once.
_LOCK = 5_717_001


def migrate(database: Database) -> list[str]:
    """Apply what is not applied yet, in order, and return the names; a second run returns none."""
    return database.run(_apply, patience_seconds=60)


def migrations() -> list[tuple[str, str]]:
    """Every migration as (name, SQL), in order."""
    folder = resources.files("sluice.adapters.postgres") / "migrations"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [(file.name, file.read_text(encoding="utf-8")) for file in files]


def _apply(connection: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    applied: list[str] = []
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migration"
            " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        known = {row[0] for row in connection.execute("SELECT name FROM migration")}
        for name, sql in migrations():
            if name not in known:
                connection.execute(sql.encode())
                connection.execute("INSERT INTO migration (name) VALUES (%s)", (name,))
                applied.append(name)
    return applied

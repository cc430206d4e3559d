"""What webhooks bring beside statuses: kept, once each, with what was done about it."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sluice.adapters.postgres.connection import Database

KEEP = """
INSERT INTO signal (digest, account_id, field, body, received_at, acted_at)
SELECT digest, account_id, field, body, %(now)s,
       CASE WHEN digest <> ALL (%(asking)s) THEN %(now)s END
FROM unnest(
    %(digests)s::text[], %(accounts)s::text[], %(fields)s::text[], %(bodies)s::json[]
) AS signal (digest, account_id, field, body)
ORDER BY 1
ON CONFLICT DO NOTHING
RETURNING field
"""
TO_DO = "SELECT digest FROM signal WHERE digest = ANY (%(digests)s) AND acted_at IS NULL"
ACTED = """
UPDATE signal SET acted_at = %(now)s WHERE digest = ANY (%(digests)s) AND acted_at IS NULL
"""


class Signals:
    """Signals, by the digest of their content."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(
        self, signals: Mapping[str, Mapping[str, Any]], *, asking: Collection[str], now: datetime
    ) -> Sequence[str]:
        """Store signals by digest and return the fields of those that are new.

        Those that are not ``asking`` for anything are done with at once.
        """
        rows = self._database.fetch(
            KEEP,
            {
                "digests": list(signals),
                "accounts": [_text(signal.get("account")) for signal in signals.values()],
                "fields": [_text(signal.get("field")) for signal in signals.values()],
                "bodies": [json.dumps(signal) for signal in signals.values()],
                "asking": sorted(asking),
                "now": now,
            },
        )
        return [row[0] for row in rows]

    def to_do(self, digests: Collection[str]) -> set[str]:
        """Return those that nobody has marked as acted upon."""
        return {row[0] for row in self._database.fetch(TO_DO, {"digests": sorted(digests)})}

    def acted(self, digests: Collection[str], *, now: datetime) -> None:
        """Mark what signals ask for as done."""
        self._database.fetch(ACTED, {"digests": sorted(digests), "now": now})


def _text(value: object) -> str:
    # Postgres keeps every character but NUL, and UTF-8 has no half of a surrogate pair.
    text = str(value or "").replace("\0", "")
    return text.encode(errors="replace").decode()

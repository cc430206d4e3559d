"""What webhooks bring beside statuses: kept, once each."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sluice.adapters.postgres.connection import Database

KEEP = """
INSERT INTO signal (digest, account_id, field, body, received_at)
SELECT *, %(now)s FROM unnest(
    %(digests)s::text[], %(accounts)s::text[], %(fields)s::text[], %(bodies)s::json[]
) ORDER BY 1
ON CONFLICT DO NOTHING
RETURNING field
"""


class Signals:
    """Signals, by the digest of their content."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, signals: Mapping[str, Mapping[str, Any]], *, now: datetime) -> Sequence[str]:
        """Store signals by digest and return the fields of those that are new."""
        rows = self._database.fetch(
            KEEP,
            {
                "digests": list(signals),
                "accounts": [_text(signal.get("account")) for signal in signals.values()],
                "fields": [_text(signal.get("field")) for signal in signals.values()],
                "bodies": [json.dumps(signal) for signal in signals.values()],
                "now": now,
            },
        )
        return [row[0] for row in rows]


def _text(value: object) -> str:
    # Postgres keeps every character but NUL, and UTF-8 has no half of a surrogate pair.
    text = str(value or "").replace("\0", "")
    return text.encode(errors="replace").decode()

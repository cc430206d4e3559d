"""After a restore: nothing is sent until the journal has told what has left since the backup."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.audit import ORDERED, note
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.partitions import execute_in, split
from sluice.domain.audit import ENGINE, Entry
from sluice.domain.claim import Key
from sluice.domain.clock import FOREVER
from sluice.domain.journal import Noted
from sluice.domain.restoration import IDS_SKIPPED, RESTORE_MARGIN, Restoration, Settled

Connection = psycopg.Connection[tuple[Any, ...]]

SETTLE_ROWS = 5_000
"""Deliveries in one statement."""

_RESTORATION = "restored_to, upto, passed_to, accepted, doubted, missing, finished_at IS NOT NULL"
BEGIN = """
INSERT INTO restoration (restored_to, upto, passed_to, begun_at)
VALUES (%(restored_to)s, %(upto)s, %(passed_to)s, %(now)s)
ON CONFLICT (restored_to) DO NOTHING
RETURNING restored_to
"""
FIND = f"SELECT {_RESTORATION} FROM restoration WHERE restored_to = %(restored_to)s"  # noqa: S608 - our own columns
# A pause of Meta's, in the year 9999, stays Meta's to end; one that ends by itself must not.
HOLD = """
UPDATE campaign SET state = 'paused', reason = %(reason)s, paused_until = NULL
WHERE kind = 'campaign'
  AND (state = 'running' OR (state = 'paused' AND paused_until < %(forever)s))
"""
# What the lost time has created is known to Meta by ids and positions, which come back in statuses:
# nothing else may have them.
SKIP_IDS = """
SELECT setval(pg_get_serial_sequence('campaign', 'campaign_id'), greatest(
           (SELECT max(campaign_id) FROM campaign WHERE campaign_id < 1000000000), 0
       ) + %(skipped)s),
       setval('campaign_apart', greatest(
           (SELECT max(campaign_id) FROM campaign WHERE campaign_id >= 1000000000), 1000000000
       ) + %(skipped)s)
"""
SKIP_POSITIONS = "UPDATE campaign SET loaded_rows = loaded_rows + %(skipped)s WHERE kind = 'direct'"
# A later attempt than the row knows was made in the lost time: its fate is what the journal says,
# and where that is only its claim, nobody knows whether it left.
SETTLE = """
WITH told AS (
    SELECT * FROM unnest(
        %(campaign_ids)s::int[], %(seqs)s::int[], %(attempts)s::smallint[], %(fates)s::text[],
        %(numbers)s::text[], %(ats)s::timestamptz[]
    ) AS told (campaign_id, seq, attempt, fate, phone_number_id, at)
), locked AS MATERIALIZED (
    SELECT d.campaign_id, d.seq
    FROM told JOIN delivery AS d USING (campaign_id, seq)
    WHERE d.status < 'delivered' AND (
        (told.fate <> 'returned' AND d.attempt < told.attempt)
        OR (told.fate = 'accepted' AND d.attempt = told.attempt
            AND d.state IN ('sending', 'unknown'))
        OR (told.fate = 'returned' AND d.attempt = told.attempt AND d.state = 'unknown'))
    ORDER BY d.campaign_id, d.seq
    FOR UPDATE OF d
), contacted AS (
    INSERT INTO contact (match_key, campaign_id, seq, attempt, portfolio_id, marketing, sent_at)
    SELECT r.match_key, told.campaign_id, told.seq, told.attempt, number.portfolio_id,
           c.request ->> 'category' IS NOT DISTINCT FROM 'marketing', told.at
    FROM locked JOIN told USING (campaign_id, seq) JOIN campaign AS c USING (campaign_id)
    JOIN recipient AS r USING (campaign_id, seq)
    JOIN number ON number.phone_number_id = told.phone_number_id
    WHERE told.fate <> 'returned'
    ON CONFLICT DO NOTHING
)
UPDATE delivery AS d
SET state = (CASE told.fate WHEN 'accepted' THEN 'done' WHEN 'claimed' THEN 'unknown'
                            ELSE 'pending' END)::delivery_state,
    attempt = told.attempt,
    status = (CASE told.fate WHEN 'accepted' THEN 'accepted' ELSE 'none' END)::delivery_status,
    due_at = CASE told.fate WHEN 'claimed' THEN %(now)s + c.unknown_window
                            WHEN 'returned' THEN %(now)s END,
    phone_number_id = CASE WHEN told.fate = 'returned' AND NOT d.number_fixed THEN NULL
                           ELSE told.phone_number_id END,
    accepted_at = CASE told.fate WHEN 'accepted' THEN told.at END,
    sent_at = NULL, failed_at = NULL
FROM locked JOIN told USING (campaign_id, seq) JOIN campaign AS c USING (campaign_id)
WHERE d.campaign_id = locked.campaign_id AND d.seq = locked.seq
RETURNING d.campaign_id, told.fate
"""
MISSING = """
SELECT told.campaign_id, count(*)
FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[], %(fates)s::text[])
     AS told (campaign_id, seq, fate)
WHERE told.fate <> 'returned' AND NOT EXISTS (
    SELECT FROM delivery AS d WHERE d.campaign_id = told.campaign_id AND d.seq = told.seq)
GROUP BY 1
"""
# What came back into a campaign that was over: somebody must come back to it, and no sender may.
REOPEN = """
UPDATE campaign SET state = 'paused', reason = %(reason)s, finished_at = NULL,
    swept_seq = 0, swept_at = NULL
WHERE campaign_id = ANY(%(campaign_ids)s) AND state = 'finished'
"""
PASS = f"""
UPDATE restoration
SET passed_to = %(passed_to)s, accepted = accepted + %(accepted)s, doubted = doubted + %(doubted)s,
    missing = missing || %(missing)s::jsonb,
    finished_at = CASE WHEN %(passed_to)s >= upto THEN %(now)s::timestamptz END
WHERE restored_to = %(restored_to)s
RETURNING {_RESTORATION}
"""  # noqa: S608 - our own columns
HELD = "SELECT campaign FROM campaign WHERE state = 'paused' AND reason = %(reason)s ORDER BY 1"


class Restorations:
    """Restored backups, each by the time that it is of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, restored_to: datetime, *, upto: datetime, now: datetime) -> Restoration:
        """Hold every campaign, and skip ids that may be in use; once for each backup."""
        parameters = {
            "restored_to": restored_to,
            "upto": upto,
            "passed_to": restored_to - RESTORE_MARGIN,
            "now": now,
            "reason": _reason(restored_to),
            "forever": FOREVER,
            "skipped": IDS_SKIPPED,
        }

        def work(connection: Connection) -> Restoration:
            with connection.transaction():
                if connection.execute(BEGIN, parameters).fetchone() is not None:
                    connection.execute(ORDERED)
                    for statement in (HOLD, SKIP_IDS, SKIP_POSITIONS):
                        connection.execute(statement.encode(), parameters)
                    told = {"restored_to": restored_to.isoformat(), "upto": upto.isoformat()}
                    note(connection, ENGINE, Entry("restore", "database", told))
                found = connection.execute(FIND.encode(), parameters).fetchone()
            assert found is not None, "it is stored, by us or before"
            return Restoration(*found)

        return self._database.run(work)

    def settle(
        self, restoration: Restoration, noted: Mapping[Key, Noted], *, now: datetime
    ) -> Restoration:
        """Write what the next slice of the journal says, all of it or nothing."""
        ordered = [noted[key] for key in sorted(noted)]
        own = {"now": now, "reason": _reason(restoration.restored_to)}

        def work(connection: Connection) -> Restoration:
            with connection.transaction():
                settled = _settle(connection, ordered, own)
                _, passed_to = restoration.next_slice
                missing = {
                    str(campaign_id): count + restoration.missing.get(str(campaign_id), 0)
                    for campaign_id, count in settled.missing.items()
                }
                row = connection.execute(
                    PASS.encode(),
                    {
                        "restored_to": restoration.restored_to,
                        "passed_to": passed_to,
                        "accepted": settled.accepted,
                        "doubted": settled.doubted,
                        "missing": json.dumps(missing),
                        "now": now,
                    },
                ).fetchone()
            assert row is not None, "it was begun"
            return Restoration(*row)

        return self._database.run(work)

    def held(self, restoration: Restoration) -> list[str]:
        """Return the campaigns that wait for somebody to resume them."""
        reason = {"reason": _reason(restoration.restored_to)}
        return [row[0] for row in self._database.fetch(HELD, reason)]


def _reason(restored_to: datetime) -> str:
    return f"restored to {restored_to.isoformat(timespec='seconds')}"


def _settle(connection: Connection, noted: Sequence[Noted], own: dict[str, Any]) -> Settled:
    accepted, doubted, missing = 0, set[int](), dict[int, int]()
    doubts = 0
    for group in split(noted, lambda one: one.attempt.campaign_id):
        for start in range(0, len(group), SETTLE_ROWS):
            rows = group[start : start + SETTLE_ROWS]
            campaign_id, parameters = rows[0].attempt.campaign_id, {**_columns(rows), **own}
            for found, count in execute_in(connection, MISSING, campaign_id, parameters):
                missing[found] = missing.get(found, 0) + count
            for found, fate in execute_in(connection, SETTLE, campaign_id, parameters):
                accepted += fate == "accepted"
                if fate == "claimed":
                    doubts += 1
                    doubted.add(found)
    connection.execute(ORDERED)
    connection.execute(REOPEN, {**own, "campaign_ids": sorted(doubted)})
    return Settled(accepted, doubts, missing)


def _columns(noted: Sequence[Noted]) -> dict[str, Any]:
    return {
        "campaign_ids": [one.attempt.campaign_id for one in noted],
        "seqs": [one.attempt.seq for one in noted],
        "attempts": [one.attempt.attempt for one in noted],
        "fates": [one.fate.value for one in noted],
        "numbers": [one.phone_number_id for one in noted],
        "ats": [one.at for one in noted],
    }

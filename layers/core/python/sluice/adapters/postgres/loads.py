"""Loading an audience: segments by COPY, each with the progress that it makes."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg

from sluice.adapters.postgres.approvals import hold_if_large
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.exclusions import exclude
from sluice.adapters.postgres.partitions import in_partition
from sluice.domain.addresses import calling_code_of
from sluice.domain.audience import AudienceRow, Position, RejectedRow, Row
from sluice.domain.limits import STAY_PATIENCE_SECONDS
from sluice.domain.suppressions import match_key

# The progress is compared before it is moved: of two loaders of one campaign, one stops.
ADVANCE = """
UPDATE campaign
SET loaded_bytes = %(offset)s, loaded_rows = %(line)s, audience_etag = %(etag)s
WHERE campaign_id = %(campaign_id)s AND loaded_at IS NULL AND state <> 'cancelled'
  AND loaded_bytes = %(from_offset)s AND loaded_rows = %(from_line)s
RETURNING created_at, zones
"""
ADD_ZONES = "UPDATE campaign SET zones = %(zones)s WHERE campaign_id = %(campaign_id)s"
COPY_RECIPIENTS = "COPY recipient (campaign_id, seq, address, match_key, parameters) FROM STDIN"
COPY_DELIVERIES = """
COPY delivery (
    campaign_id, seq, state, country_code, number_fixed, phone_number_id, zone, variant, due_at
) FROM STDIN
"""
COPY_REJECTED = "COPY rejected (campaign_id, line, reason) FROM STDIN"

# By the key, not the address: a person whose number is written in two ways is one person.
DROPPED = """
CREATE TEMPORARY TABLE dropped ON COMMIT DROP AS
SELECT seq, COALESCE(
    'suppressed: ' || stop.reason, excluded.why,
    CASE WHEN seq <> first THEN 'the same person as in line ' || first END, 'holdout'
) AS why
FROM (
    SELECT seq, match_key, min(seq) OVER (PARTITION BY match_key) AS first
    FROM recipient WHERE campaign_id = %(campaign_id)s
) AS placed
LEFT JOIN (
    SELECT DISTINCT ON (match_key) match_key, reason
    FROM suppression
    WHERE NOT lifted AND (scope = 'all' OR (
        SELECT request ->> 'category' = 'marketing' FROM campaign
        WHERE campaign_id = %(campaign_id)s
    ))
    ORDER BY match_key, scope
) AS stop USING (match_key)
LEFT JOIN excluded USING (match_key)
LEFT JOIN (
    SELECT seq, true AS apart FROM delivery
    WHERE campaign_id = %(campaign_id)s AND variant = -1 AND (
        SELECT (request #>> '{split,holdout}')::float8 > 0 FROM campaign
        WHERE campaign_id = %(campaign_id)s
    )
) AS held USING (seq)
WHERE seq <> first OR stop.reason IS NOT NULL OR excluded.why IS NOT NULL OR held.apart
"""
REJECT_DROPPED = """
INSERT INTO rejected (campaign_id, line, reason)
SELECT %(campaign_id)s, seq, why FROM dropped
"""
DROP_DELIVERIES = """
DELETE FROM delivery USING dropped
WHERE delivery.campaign_id = %(campaign_id)s AND delivery.seq = dropped.seq
"""
DROP_RECIPIENTS = """
DELETE FROM recipient USING dropped
WHERE recipient.campaign_id = %(campaign_id)s AND recipient.seq = dropped.seq
"""
# Whoever talks with a number of the pool stays with it, unless it could not send anyway.
STAY = """
WITH asked AS (
    SELECT numbers, COALESCE((request ->> 'stay_with_number_days')::int, 0) AS days
    FROM campaign WHERE campaign_id = %(campaign_id)s AND cardinality(numbers) > 1
), talks AS (
    SELECT DISTINCT ON (r.seq) r.seq, said.phone_number_id
    FROM asked
    JOIN number ON number.phone_number_id = ANY (asked.numbers) AND number.state = 'active'
     AND COALESCE(number.paused_until, '-infinity') <= %(patience_ends_at)s
    JOIN conversation AS said ON said.phone_number_id = number.phone_number_id
     AND said.last_inbound_at > %(now)s - make_interval(days => asked.days)
    JOIN recipient AS r ON r.campaign_id = %(campaign_id)s AND r.match_key = said.match_key
    ORDER BY r.seq, said.last_inbound_at DESC
), stays AS (
    UPDATE delivery AS d
    SET phone_number_id = talks.phone_number_id, number_fixed = true, number_sticky = true
    FROM talks
    WHERE d.campaign_id = %(campaign_id)s AND d.seq = talks.seq AND NOT d.number_fixed
    RETURNING d.phone_number_id
)
UPDATE campaign SET sticky_numbers = ARRAY(SELECT DISTINCT phone_number_id FROM stays ORDER BY 1)
WHERE campaign_id = %(campaign_id)s
"""
# Of a campaign that was just loaded the planner expects one row, and would read a list as often as
# the campaign has people. Hashes are right at any size.
WITHOUT_LOOPS = "SET LOCAL enable_nestloop TO off"
WITH_LOOPS = "SET LOCAL enable_nestloop TO DEFAULT"
LOCK_LOADING = """
SELECT campaign_id FROM campaign
WHERE campaign_id = %(campaign_id)s AND loaded_at IS NULL FOR UPDATE
"""
LOADED = "UPDATE campaign SET loaded_at = %(now)s WHERE campaign_id = %(campaign_id)s"
NOTE_LOADED = """
INSERT INTO audit (actor, via, action, subject, details)
SELECT 'sluice', 'engine', 'loaded', 'campaign ' || campaign, jsonb_build_object(
    'people', (SELECT COALESCE(sum(deliveries), 0) FROM campaign_counter
               WHERE campaign_id = %(campaign_id)s),
    'rejected', (SELECT count(*) FROM rejected WHERE campaign_id = %(campaign_id)s))
FROM campaign WHERE campaign_id = %(campaign_id)s
RETURNING (details ->> 'people')::int
"""


class Loads:
    """The audience of one campaign at a time, resumable after each segment."""

    def __init__(self, database: Database, *, approval_above: int | None = None) -> None:
        """``approval_above``: a campaign to more people is held for an approval; None: none is."""
        self._database = database
        self._approval_above = approval_above

    def store(
        self,
        campaign_id: int,
        rows: Sequence[Row],
        *,
        start: Position,
        end: Position,
        etag: str,
    ) -> bool:
        """Store a segment that moves the load from ``start`` to ``end``.

        False: another loader has moved it already; nothing was stored.
        """
        accepted = [row for row in rows if isinstance(row, AudienceRow)]
        progress = {
            "campaign_id": campaign_id,
            "etag": etag,
            "offset": end.offset,
            "line": end.line,
            "from_offset": start.offset,
            "from_line": start.line,
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
            with connection.transaction():
                moved = connection.execute(ADVANCE, progress).fetchone()
                if moved is None:
                    return False
                created_at, zones = moved
                zone_ids = _zone_ids(zones, accepted)
                if len(zone_ids) > len(zones):
                    added = {"campaign_id": campaign_id, "zones": list(zone_ids)}
                    connection.execute(ADD_ZONES, added)
                _copy(connection, campaign_id, accepted, zone_ids, created_at)
                _copy_rejected(connection, campaign_id, rows)
            return True

        return self._database.run(work)

    def seal(self, campaign_id: int, *, now: datetime) -> Sequence[str]:
        """End the load: who comes twice is sent once, as in the first line; who is suppressed, not.

        Suppressions of marketing count for campaigns of that category only. Who talks with one of
        the campaign's numbers is left to it. A large campaign is held for an approval. Returns why
        the load cannot end, where a list of people that the campaign excludes is gone; nothing is
        changed then.
        """
        parameters = {
            "campaign_id": campaign_id,
            "now": now,
            "patience_ends_at": now + timedelta(seconds=STAY_PATIENCE_SECONDS),
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> Sequence[str]:
            with connection.transaction():
                # Of a large audience this sorts millions of keys.
                connection.execute("SET LOCAL statement_timeout = 0")
                if connection.execute(LOCK_LOADING, parameters).fetchone() is None:
                    return ()
                connection.execute(WITHOUT_LOOPS)
                gone = exclude(connection, campaign_id)
                if gone:
                    return gone
                for statement in (
                    DROPPED,
                    WITH_LOOPS,
                    REJECT_DROPPED,
                    DROP_DELIVERIES,
                    DROP_RECIPIENTS,
                    STAY,
                    LOADED,
                ):
                    connection.execute(in_partition(statement, campaign_id).encode(), parameters)
                noted = connection.execute(NOTE_LOADED, parameters).fetchone()
                assert noted is not None, "the campaign is locked"
                above = self._approval_above
                hold_if_large(connection, campaign_id, people=noted[0], above=above)
                return ()

        return self._database.run(work)


def _zone_ids(zones: Sequence[str], rows: Sequence[AudienceRow]) -> dict[str, int]:
    """Return each zone's id: those that the campaign knows, then new ones as the rows name them."""
    named = dict.fromkeys([*zones, *(row.time_zone for row in rows if row.time_zone)])
    return {zone: place for place, zone in enumerate(named)}


def _copy(
    connection: psycopg.Connection[tuple[Any, ...]],
    campaign_id: int,
    rows: Sequence[AudienceRow],
    zone_ids: Mapping[str, int],
    due_at: datetime,
) -> None:
    with connection.cursor() as cursor:
        with cursor.copy(in_partition(COPY_RECIPIENTS, campaign_id).encode()) as copy:
            for row in rows:
                key = match_key(row.address)
                copy.write_row((campaign_id, row.seq, row.address, key, _json(row)))
        with cursor.copy(in_partition(COPY_DELIVERIES, campaign_id).encode()) as copy:
            for row in rows:
                code, number = calling_code_of(row.address), row.phone_number_id
                zone = zone_ids[row.time_zone] if row.time_zone else 0
                copy.write_row(
                    (
                        campaign_id,
                        row.seq,
                        "pending",
                        code,
                        bool(number),
                        number,
                        zone,
                        row.variant or None,
                        due_at,
                    )
                )


def _copy_rejected(
    connection: psycopg.Connection[tuple[Any, ...]], campaign_id: int, rows: Sequence[Row]
) -> None:
    statement = in_partition(COPY_REJECTED, campaign_id).encode()
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            if isinstance(row, RejectedRow):
                copy.write_row((campaign_id, row.seq, row.reason))


def _json(row: AudienceRow) -> str:
    return json.dumps(row.parameters, ensure_ascii=False)

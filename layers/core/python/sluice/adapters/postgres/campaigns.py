"""Campaigns and direct sends as they are published, each stored once."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import psycopg

from sluice.adapters.postgres.apart import create_apart, may_be_apart
from sluice.adapters.postgres.audit import note
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.partitions import in_partition
from sluice.domain.addresses import calling_code_of
from sluice.domain.audience import Position
from sluice.domain.audit import ENGINE, Entry, Origin, about_campaign
from sluice.domain.campaign import StoredCampaign
from sluice.domain.claim import Key
from sluice.domain.direct import DirectSend
from sluice.domain.erasure import ERASED
from sluice.domain.limits import (
    ATTEMPTS_MAX_DEFAULT,
    QUEUED_LOST_SECONDS,
    UNKNOWN_WINDOW_SECONDS_DEFAULT,
)
from sluice.domain.requests import CampaignRequest, SendRequest
from sluice.domain.silence import TIME_TO_LIVE_DEFAULT, time_to_live
from sluice.domain.suppressions import match_key
from sluice.domain.trial import Subject, subject_of

CREATE = """
INSERT INTO campaign (
    campaign_id,
    campaign, kind, request, request_hash, numbers, lane, priority, max_attempts, unknown_resend,
    unknown_window, time_to_live, start_at, expires_at, zones, media, state, created_at
) OVERRIDING SYSTEM VALUE VALUES (
    nextval(%(ids)s::text::regclass),
    %(campaign)s, 'campaign', %(request)s, %(request_hash)s, %(numbers)s, 'bulk', %(priority)s,
    %(max_attempts)s, %(unknown_resend)s, %(unknown_window)s, %(time_to_live)s, %(start_at)s,
    %(expires_at)s, %(zones)s, %(media)s, 'running', %(now)s
) ON CONFLICT (campaign) DO NOTHING
RETURNING campaign_id
"""
FIND = """
SELECT campaign_id, request_hash, state, audience_etag, loaded_bytes, loaded_rows, loaded_at, media
FROM campaign WHERE campaign = %s
"""
FIND_SUBJECT = """
SELECT request -> 'template', numbers, ARRAY(SELECT jsonb_object_keys(media)),
       jsonb_path_query_array(request, '$.split.variants[*]')
FROM campaign WHERE campaign = %s AND kind = 'campaign' AND state <> 'erased'
"""
# The direct campaign of a lane hands out positions; its row lock puts them in order.
CREATE_DIRECT = """
INSERT INTO campaign (
    campaign, kind, request, request_hash, numbers, lane, priority, max_attempts, unknown_resend,
    unknown_window, time_to_live, state, created_at, loaded_at
) VALUES (
    %(campaign)s, 'direct', '{}', '', ARRAY[%(phone_number_id)s], %(lane)s, 'normal',
    %(max_attempts)s, false, %(unknown_window)s, %(time_to_live)s, 'running', %(now)s, %(now)s
) ON CONFLICT (campaign) DO NOTHING
"""
TAKE_POSITIONS = """
UPDATE campaign SET loaded_rows = loaded_rows + %(recipients)s
WHERE campaign = %(campaign)s
RETURNING campaign_id, loaded_rows - %(recipients)s + 1
"""
FIND_DIRECT = """
SELECT request_hash, campaign_id, seq_from, recipients FROM direct_send WHERE id = %s
"""
STORE_DIRECT = """
INSERT INTO direct_send (id, request_hash, campaign_id, seq_from, recipients, created_at)
VALUES (%(id)s, %(request_hash)s, %(campaign_id)s, %(seq_from)s, %(recipients)s, %(now)s)
ON CONFLICT (id) DO NOTHING
RETURNING id
"""
STORE_RECIPIENTS = """
INSERT INTO recipient (campaign_id, seq, address, match_key, parameters, message)
SELECT %(campaign_id)s, %(seq_from)s + place - 1, address, match_key, parameters, %(message)s
FROM unnest(%(addresses)s::text[], %(match_keys)s::text[], %(parameters)s::jsonb[])
     WITH ORDINALITY AS entry (address, match_key, parameters, place)
"""
STORE_DELIVERIES = """
INSERT INTO delivery (
    campaign_id, seq, state, country_code, number_fixed, phone_number_id, due_at
)
SELECT %(campaign_id)s, %(seq_from)s + place - 1, 'queued', country_code, true,
       %(phone_number_id)s, %(lost_at)s
FROM unnest(%(country_codes)s::smallint[]) WITH ORDINALITY AS entry (country_code, place)
"""


class Campaigns:
    """What clients publish, by their own ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        request: CampaignRequest,
        *,
        request_hash: str,
        now: datetime,
        media: Mapping[str, str] | None = None,
        origin: Origin = ENGINE,
        large: bool = False,
    ) -> StoredCampaign:
        """Store the campaign, or return the one that has its id: the caller compares hashes.

        ``media`` are the files of its template's header, with their ETags. A ``large`` one gets
        partitions of its own, unless many have them already.
        """
        values = {
            **_columns(request),
            "request_hash": request_hash,
            "media": json.dumps(media or {}),
            "now": now,
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                apart = large and may_be_apart(connection)
                ids = "campaign_apart" if apart else "campaign_campaign_id_seq"
                made = connection.execute(CREATE, {**values, "ids": ids}).fetchone()
                if made is None:
                    return
                if apart:
                    create_apart(connection, made[0])
                note(connection, origin, _creation(request, request_hash))

        self._database.run(work)
        stored = self.find(request.campaign)
        assert stored is not None, "a campaign is never deleted while it is published"
        return stored

    def find(self, campaign: str) -> StoredCampaign | None:
        """Return the campaign with this client's id."""
        rows = self._database.fetch(FIND, (campaign,))
        if not rows:
            return None
        campaign_id, known_hash, state, etag, loaded_bytes, loaded_rows, loaded_at, media = rows[0]
        position = Position(loaded_bytes, loaded_rows)
        loaded = loaded_at is not None
        return StoredCampaign(campaign_id, known_hash, state, etag, position, loaded, media)

    def subject(self, campaign: str) -> Subject | None:
        """Return what a test of the campaign would send."""
        rows = self._database.fetch(FIND_SUBJECT, (campaign,))
        if not rows:
            return None
        template, numbers, media, variants = rows[0]
        return subject_of(template, numbers=numbers, media=media, variants=variants)

    def store_direct(
        self,
        request: SendRequest,
        direct: DirectSend,
        *,
        request_hash: str,
        now: datetime,
    ) -> list[Key] | None:
        """Store a direct send once and return its deliveries, those of the first time if again.

        None: the id was used for another content. Of what is erased the content is forgotten.
        """

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> list[Key] | None:
            with connection.transaction():
                found = connection.execute(FIND_DIRECT, (request.id,)).fetchone()
                if found is None:
                    found = _insert_direct(connection, values)
            known_hash, campaign_id, seq_from, count = found
            if known_hash not in (request_hash, ERASED):
                return None
            return [Key(campaign_id, seq) for seq in range(seq_from, seq_from + count)]

        values = {
            "id": request.id,
            "request_hash": request_hash,
            "phone_number_id": request.phone_number_id,
            "lane": request.lane,
            "campaign": f"direct:{request.phone_number_id}:{request.lane}",
            "recipients": len(direct.recipients),
            "addresses": [address for address, _ in direct.recipients],
            "match_keys": [match_key(address) for address, _ in direct.recipients],
            "country_codes": [calling_code_of(address) for address, _ in direct.recipients],
            "parameters": [json.dumps(parameters) for _, parameters in direct.recipients],
            "message": json.dumps(direct.message),
            "max_attempts": ATTEMPTS_MAX_DEFAULT,
            "unknown_window": timedelta(seconds=UNKNOWN_WINDOW_SECONDS_DEFAULT),
            "time_to_live": TIME_TO_LIVE_DEFAULT,
            "lost_at": now + timedelta(seconds=QUEUED_LOST_SECONDS),
            "now": now,
        }
        return self._database.run(work)


def _insert_direct(
    connection: psycopg.Connection[tuple[Any, ...]], values: dict[str, Any]
) -> tuple[Any, ...]:
    connection.execute(CREATE_DIRECT, values)
    taken = connection.execute(TAKE_POSITIONS, values).fetchone()
    assert taken is not None, "the direct campaign was just created"
    values = {**values, "campaign_id": taken[0], "seq_from": taken[1]}
    # The lock on the direct campaign was waited for: a twin may have come first.
    if connection.execute(STORE_DIRECT, values).fetchone() is not None:
        for statement in (STORE_RECIPIENTS, STORE_DELIVERIES):
            connection.execute(in_partition(statement, taken[0]).encode(), values)
    found = connection.execute(FIND_DIRECT, (values["id"],)).fetchone()
    assert found is not None, "the direct send is stored, by us or by its twin"
    return found


def _creation(request: CampaignRequest, request_hash: str) -> Entry:
    template = request.template
    details = {
        "template": f"{template.name} {template.language}",
        "category": request.category,
        "numbers": len(request.numbers),
        "request_hash": request_hash,
    }
    return Entry("create", about_campaign(request.campaign), details)


def _columns(request: CampaignRequest) -> dict[str, Any]:
    return {
        "campaign": request.campaign,
        "request": request.model_dump_json(exclude={"audience"}),
        "numbers": list(request.numbers),
        "priority": request.priority,
        "max_attempts": request.max_attempts,
        "unknown_resend": request.unknown_policy == "resend",
        "unknown_window": timedelta(seconds=request.unknown_window_seconds),
        "time_to_live": time_to_live(request.time_to_live_seconds, request.category),
        "start_at": request.start_at,
        "expires_at": request.expires_at,
        "zones": [request.time_zone] if request.timed else [],
    }

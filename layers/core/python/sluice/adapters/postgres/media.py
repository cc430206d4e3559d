"""Uploads of header media, by number."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sluice.adapters.postgres.connection import Database

MISSING = """
SELECT number.phone_number_id
FROM unnest(%(numbers)s::text[]) WITH ORDINALITY AS number (phone_number_id, place)
WHERE NOT EXISTS (
    SELECT FROM media
    WHERE media.s3_uri = %(uri)s AND media.etag = %(etag)s
      AND media.phone_number_id = number.phone_number_id AND media.uploaded_at > %(since)s
)
ORDER BY number.place
"""
STORE = """
INSERT INTO media AS kept (phone_number_id, s3_uri, etag, media_id, uploaded_at)
VALUES (%(phone_number_id)s, %(uri)s, %(etag)s, %(media_id)s, %(uploaded_at)s)
ON CONFLICT (s3_uri, etag, phone_number_id) DO UPDATE
SET media_id = excluded.media_id, uploaded_at = excluded.uploaded_at
WHERE kept.uploaded_at < excluded.uploaded_at
"""
IDS = """
SELECT media.phone_number_id, media.s3_uri, media.media_id
FROM campaign
CROSS JOIN LATERAL jsonb_each_text(campaign.media) AS wanted (s3_uri, etag)
JOIN media USING (s3_uri, etag)
WHERE campaign.campaign = %(campaign)s AND media.phone_number_id = ANY (campaign.numbers)
  AND media.uploaded_at > %(since)s
"""


class Media:
    """The ids that Meta gave to files, one for each number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def missing(self, numbers: Sequence[str], uri: str, etag: str, *, since: datetime) -> list[str]:
        """Return the numbers for which the file was not uploaded since then."""
        parameters = {"numbers": list(numbers), "uri": uri, "etag": etag, "since": since}
        return [row[0] for row in self._database.fetch(MISSING, parameters)]

    def store(
        self, phone_number_id: str, uri: str, etag: str, *, media_id: str, uploaded_at: datetime
    ) -> None:
        """Keep an id; of several the latest."""
        self._database.fetch(
            STORE,
            {
                "phone_number_id": phone_number_id,
                "uri": uri,
                "etag": etag,
                "media_id": media_id,
                "uploaded_at": uploaded_at,
            },
        )

    def ids(self, campaign: str, *, since: datetime) -> Mapping[str, Mapping[str, str]]:
        """Return the ids of the campaign's files that were uploaded since: number, URI, id."""
        found: dict[str, dict[str, str]] = {}
        for number, uri, media_id in self._database.fetch(
            IDS, {"campaign": campaign, "since": since}
        ):
            found.setdefault(number, {})[uri] = media_id
        return found

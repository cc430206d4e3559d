"""What a sender must know of a campaign, with the uploads of its own number."""

from dataclasses import replace
from datetime import datetime

from sluice.adapters.postgres.connection import Database
from sluice.domain.claim import SendPolicy
from sluice.domain.media import UPLOAD_VALID, with_media
from sluice.domain.windows import Hours

POLICY = """
SELECT request -> 'template', max_attempts, unknown_window,
       request -> 'split' -> 'variants', request -> 'send_window', request -> 'quiet_hours', zones
FROM campaign WHERE campaign_id = %(campaign_id)s
"""
# Nulls where the template names no files; the year 1970 where this number has no upload of one.
UPLOADS = """
SELECT jsonb_object_agg(wanted.s3_uri, media.media_id),
       min(COALESCE(media.uploaded_at, 'epoch'))
FROM campaign
CROSS JOIN LATERAL jsonb_each_text(campaign.media) AS wanted (s3_uri, etag)
LEFT JOIN media ON media.s3_uri = wanted.s3_uri AND media.etag = wanted.etag
               AND media.phone_number_id = %(phone_number_id)s
WHERE campaign_id = %(campaign_id)s
"""


class Policies:
    """Policies of campaigns, read once for each environment."""

    def __init__(self, database: Database, *, phone_number_id: str) -> None:
        self._database = database
        self._phone_number_id = phone_number_id
        self._known: dict[int, SendPolicy] = {}

    def of(self, campaign_id: int) -> SendPolicy:
        """Return the policy of a campaign. Raises KeyError where there is none."""
        if campaign_id not in self._known:
            parameters = {"campaign_id": campaign_id, "phone_number_id": self._phone_number_id}
            for template, max_attempts, unknown_window, variants, *timing in self._database.fetch(
                POLICY, parameters
            ):
                policy = SendPolicy(
                    campaign_id,
                    template,
                    max_attempts,
                    unknown_window,
                    Hours.of(*timing),
                    variants=tuple(one["template"] or template for one in variants or ()),
                )
                self._known[campaign_id] = self._with_uploads(policy, parameters)
        return self._known[campaign_id]

    def forget_outdated(self, *, now: datetime) -> None:
        """Read those again whose media this number had not, or may not send any more."""
        for campaign_id, policy in list(self._known.items()):
            if policy.media_until <= now:
                del self._known[campaign_id]

    def _with_uploads(self, policy: SendPolicy, parameters: dict[str, object]) -> SendPolicy:
        """Return the policy with the files of its templates named by this number's ids."""
        ((ids, uploaded_at),) = self._database.fetch(UPLOADS, parameters)
        if policy.template is None or ids is None:
            return policy
        known = {uri: media_id for uri, media_id in ids.items() if media_id is not None}
        return replace(
            policy,
            template=with_media(policy.template, known),
            variants=tuple(with_media(one, known) for one in policy.variants),
            media_until=uploaded_at + UPLOAD_VALID,
        )

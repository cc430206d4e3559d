"""What people order about campaigns and numbers, each carried out and noted, both or neither."""

from datetime import datetime

from sluice.adapters.postgres.audit import obey
from sluice.adapters.postgres.connection import Database
from sluice.domain.audit import ENGINE, Entry, Origin, about_campaign, about_number

# A later end wins: a short throttle never shortens a pause that a person ordered. Of two that end
# alike the later is told, so that a person's pause is never taken for the one before it.
PAUSE_NUMBER = """
UPDATE number
SET pause_reason = CASE WHEN paused_until > %(until)s THEN pause_reason ELSE %(reason)s END,
    paused_until = GREATEST(paused_until, %(until)s)
WHERE phone_number_id = %(phone_number_id)s
RETURNING phone_number_id
"""
LOCK_NUMBER = (
    "SELECT phone_number_id FROM number WHERE phone_number_id = %(phone_number_id)s FOR UPDATE"
)
RESUME_NUMBER = """
UPDATE number SET paused_until = NULL, pause_reason = NULL, backoff_code = NULL
WHERE phone_number_id = %(phone_number_id)s
RETURNING phone_number_id
"""
LOCK_CAMPAIGN = """
SELECT state FROM campaign WHERE campaign = %(campaign)s AND kind = 'campaign' FOR NO KEY UPDATE
"""
# What has ended stays ended.
COMMAND_CAMPAIGN = """
UPDATE campaign
SET state = CASE WHEN state IN ('cancelled', 'finished', 'erased') THEN state
                 ELSE %(state)s END,
    reason = CASE WHEN state IN ('cancelled', 'finished', 'erased') THEN reason
                  ELSE %(reason)s END,
    paused_until = NULL
WHERE campaign = %(campaign)s AND kind = 'campaign'
RETURNING state
"""
PRIORITISE = """
UPDATE campaign SET priority = %(priority)s
WHERE campaign = %(campaign)s AND kind = 'campaign'
RETURNING priority
"""


class Orders:
    """In force at the next claim, which asks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pause_number(
        self, phone_number_id: str, *, until: datetime, reason: str, origin: Origin = ENGINE
    ) -> bool:
        """Stop the number for all its slots; False: there is no such number."""
        parameters = {"phone_number_id": phone_number_id, "until": until, "reason": reason}
        entry = Entry("pause", about_number(phone_number_id), {"reason": reason})
        found = obey(
            self._database, origin, entry, parameters, look=LOCK_NUMBER, change=PAUSE_NUMBER
        )
        return found is not None

    def resume_number(
        self, phone_number_id: str, *, reason: str | None = None, origin: Origin = ENGINE
    ) -> bool:
        """Let the number send again; False: there is no such number."""
        parameters = {"phone_number_id": phone_number_id}
        entry = Entry("resume", about_number(phone_number_id), {"reason": reason})
        found = obey(
            self._database, origin, entry, parameters, look=LOCK_NUMBER, change=RESUME_NUMBER
        )
        return found is not None

    def command_campaign(
        self, campaign: str, *, state: str, reason: str | None, origin: Origin = ENGINE
    ) -> str | None:
        """Set the state a person wants; returns the one in force, None: no such campaign."""
        parameters = {"campaign": campaign, "state": state, "reason": reason}
        entry = Entry(_ACTIONS[state], about_campaign(campaign), {"reason": reason})
        return obey(
            self._database, origin, entry, parameters, look=LOCK_CAMPAIGN, change=COMMAND_CAMPAIGN
        )

    def prioritise(
        self,
        campaign: str,
        *,
        priority: str,
        reason: str | None = None,
        origin: Origin = ENGINE,
    ) -> bool:
        """Give the campaign this priority, from the next pick on; False: no such campaign."""
        parameters = {"campaign": campaign, "priority": priority}
        details = {"priority": priority, "reason": reason}
        entry = Entry("prioritise", about_campaign(campaign), details)
        return (
            obey(self._database, origin, entry, parameters, look=LOCK_CAMPAIGN, change=PRIORITISE)
            is not None
        )


_ACTIONS = {"paused": "pause", "running": "resume", "cancelled": "cancel"}

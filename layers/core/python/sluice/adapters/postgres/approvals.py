"""Campaigns that are held until a second person lets them go."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from psycopg import Rollback

from sluice.adapters.postgres.audit import ORDERED, Connection, note
from sluice.adapters.postgres.connection import Database
from sluice.domain.approval import DECLINED, GIVEN, Standing, Verdict
from sluice.domain.audit import ENGINE, Entry, Origin, about_campaign

if TYPE_CHECKING:
    from sluice.domain.models.command import Decision

HOLD = """
UPDATE campaign SET approval = 'awaited', approved_at = NULL, approved_by = NULL
WHERE campaign_id = %(campaign_id)s
RETURNING campaign
"""
STANDING = """
SELECT state, loaded_at IS NOT NULL, approval, request_hash
FROM campaign WHERE campaign = %(campaign)s AND kind = 'campaign'
"""
# Only what is still held: of an approval and a cancellation at once one counts.
_DECIDE = """
UPDATE campaign SET approval = %(approval)s, approved_at = %(now)s, approved_by = %(by)s{change}
WHERE campaign = %(campaign)s AND kind = 'campaign' AND approval = 'awaited'
  AND loaded_at IS NOT NULL AND state IN ('running', 'paused')
RETURNING campaign_id
"""
APPROVE = _DECIDE.format(change="")
DECLINE = _DECIDE.format(
    change=", state = 'cancelled', reason = COALESCE(%(reason)s, 'declined'), paused_until = NULL"
)


def hold_if_large(
    connection: Connection, campaign_id: int, *, people: int, above: int | None
) -> bool:
    """Hold a campaign that is to go to more people than ``above``; None: no number is too many.

    In the transaction that makes them ready to be sent to, so that nobody picks them before.
    """
    if above is None or people <= above:
        return False
    row = connection.execute(HOLD, {"campaign_id": campaign_id}).fetchone()
    assert row is not None, "the caller has the campaign"
    details = {"people": people, "above": above}
    note(connection, ENGINE, Entry("held for approval", about_campaign(row[0]), details))
    return True


class Approvals:
    """What approvers decide."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def standing(self, campaign: str) -> Standing | None:
        """Return how the campaign stands; None: there is none."""
        rows = self._database.fetch(STANDING, {"campaign": campaign})
        return Standing(*rows[0]) if rows else None

    def decide(self, order: "Decision", *, origin: Origin, now: datetime) -> Verdict | None:
        """Let a held campaign go, or end it; None: it is not held any more.

        AGAIN: this message decided before. It comes late, and the campaign is held anew since.
        """
        approved = order.action == "approve"
        parameters: dict[str, Any] = {
            "campaign": order.campaign,
            "approval": GIVEN if approved else DECLINED,
            "reason": order.reason,
            "by": origin.actor,
            "now": now,
        }
        entry = Entry(order.action, about_campaign(order.campaign), {"reason": order.reason})

        def work(connection: Connection) -> Verdict | None:
            found = None
            with connection.transaction() as transaction:
                connection.execute(ORDERED)
                statement = APPROVE if approved else DECLINE
                if connection.execute(statement.encode(), parameters).fetchone() is not None:
                    found = Verdict.NOW
                    if not note(connection, origin, entry):
                        found = Verdict.AGAIN
                        raise Rollback(transaction)
            return found

        return self._database.run(work)

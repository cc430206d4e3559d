"""How far campaigns with stages have come."""

from collections.abc import Sequence
from datetime import datetime

from sluice.adapters.postgres.connection import Database
from sluice.domain.delivery import State, Status
from sluice.domain.stages import Count, StagedCampaign, stages_of

# Who came back without having been tried is looked for only until all of the stage have been, and
# only among those who came back: they are due later than the campaign was created.
STAGED = """
SELECT campaign.campaign_id, campaign.request -> 'stages', campaign.stage, campaign.released,
       campaign.stage_left_at,
       campaign.stage_left_at IS NULL AND (
           EXISTS (
               SELECT FROM delivery AS d
               WHERE d.campaign_id = campaign.campaign_id AND d.state = 'pending'
                 AND d.phone_number_id = ANY(campaign.numbers) AND d.zone = ANY(zone.ids)
                 AND d.due_at > campaign.created_at AND d.attempt = 0
           ) OR EXISTS (
               SELECT FROM delivery AS d
               WHERE d.campaign_id = campaign.campaign_id AND d.state = 'pending'
                 AND d.phone_number_id IS NULL AND d.zone = ANY(zone.ids)
                 AND d.due_at > campaign.created_at AND d.attempt = 0
           )
       ),
       COALESCE((
           SELECT json_agg(json_build_array(counted.state, counted.status, counted.deliveries))
           FROM (
               SELECT state, status, sum(deliveries)::bigint AS deliveries
               FROM campaign_counter WHERE campaign_id = campaign.campaign_id
               GROUP BY 1, 2
           ) AS counted
       ), '[]'),
       COALESCE((
           SELECT sum(deliveries)::bigint
           FROM refusal_counter WHERE campaign_id = campaign.campaign_id
       ), 0)
FROM campaign
CROSS JOIN LATERAL (
    SELECT array_agg(id::smallint) AS ids
    FROM generate_series(0, GREATEST(0, cardinality(campaign.zones) - 1)) AS id
) AS zone
WHERE campaign.kind = 'campaign' AND campaign.finished_at IS NULL
  AND campaign.state = 'running' AND campaign.loaded_at IS NOT NULL
  AND campaign.stage < jsonb_array_length(campaign.request -> 'stages')
ORDER BY campaign.campaign_id
"""
# Each moves a campaign only from the stage that was looked at: of two that saw the same, or one
# that comes late, only the first does anything.
_MOVE = """
UPDATE campaign SET {change}
WHERE campaign_id = %(campaign_id)s AND stage = %(stage)s AND state = 'running'
RETURNING campaign_id
"""
ALL_LEFT = _MOVE.format(change="stage_left_at = COALESCE(stage_left_at, %(now)s)")
PASS = _MOVE.format(change="stage = stage + 1, stage_left_at = NULL")
HOLD = _MOVE.format(
    change="""
    stage = stage + 1, stage_left_at = NULL,
    state = 'paused', paused_until = NULL, reason = %(reason)s"""
)


class Stages:
    """The stages of running campaigns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def staged(self) -> list[StagedCampaign]:
        """Return every running campaign that its stages still limit."""
        rows = self._database.fetch(STAGED)
        return [
            StagedCampaign(
                campaign_id,
                stages_of(stages),
                stage,
                released,
                left_at,
                untried,
                _counts(counts),
                refused,
            )
            for campaign_id, stages, stage, released, left_at, untried, counts, refused in rows
        ]

    def all_left(self, campaign: StagedCampaign, *, now: datetime) -> None:
        """Remember since when only statuses of the stage are waited for."""
        self._move(ALL_LEFT, campaign, now=now)

    def go_on(self, campaign: StagedCampaign) -> bool:
        """Begin the next stage; False: somebody else has, or the campaign stopped."""
        return self._move(PASS, campaign)

    def hold(self, campaign: StagedCampaign, *, reason: str) -> bool:
        """Pause the campaign before its next stage, with which it goes on once it is resumed."""
        return self._move(HOLD, campaign, reason=reason)

    def _move(self, statement: str, campaign: StagedCampaign, **told: object) -> bool:
        parameters = {"campaign_id": campaign.campaign_id, "stage": campaign.stage, **told}
        return bool(self._database.fetch(statement, parameters))


def _counts(rows: Sequence[tuple[str, str, int]]) -> list[Count]:
    return [
        (State(state), Status[status.upper()], deliveries) for state, status, deliveries in rows
    ]

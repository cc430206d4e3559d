"""Both sides of the judgement as they are when everything is over: our tables, and the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from local.cloud_api import ledger
from local.cloud_api.ledger import Request, Status
from local.system import System
from sluice.domain.lanes import LANES

ROWS: Final = """
SELECT campaign_id || ':' || seq, state::text, status::text, attempt, due_at IS NULL FROM delivery
"""
COUNTED: Final = """
SELECT campaign_id, state::text, sum(deliveries)::bigint FROM campaign_counter
GROUP BY 1, 2 HAVING sum(deliveries) <> 0
"""


@dataclass(frozen=True)
class Row:
    """What our tables say of one recipient."""

    state: str
    status: str
    attempt: int
    final: bool


@dataclass(frozen=True)
class Books:
    """Everything that is compared. Rows are those of every campaign, direct sends among them."""

    reports: Mapping[str, Mapping[str, Any]]
    """Of the campaigns that are judged, by the client's id."""
    rows: Mapping[str, Row]
    """By ``campaign:seq``."""
    counted: Mapping[tuple[int, str], int]
    """What the counters say, by campaign and state."""
    requests: Sequence[Request]
    told: Mapping[str, Sequence[Status]]
    """The statuses that the webhook acknowledged, by wamid."""
    caps: Mapping[str, int]
    """Messages per second by phone_number_id."""
    left: Mapping[str, int]
    """Messages that nobody will deal with, by queue."""

    @property
    def accepted(self) -> dict[str, list[Request]]:
        """What the Cloud API accepted, by our id, ``campaign:seq:attempt``."""
        found: dict[str, list[Request]] = {}
        for request in self.requests:
            if request.verdict in ledger.ACCEPTED:
                found.setdefault(request.opaque_id, []).append(request)
        return found

    def rows_of(self, campaign: str) -> dict[str, Row]:
        """Return the rows of a campaign that is judged."""
        prefix = f"{self.reports[campaign]['campaign_id']}:"
        return {key: row for key, row in self.rows.items() if key.startswith(prefix)}

    def accepted_of(self, campaign: str) -> dict[str, list[Request]]:
        """Return what the Cloud API accepted of a campaign that is judged."""
        prefix = f"{self.reports[campaign]['campaign_id']}:"
        return {key: found for key, found in self.accepted.items() if key.startswith(prefix)}


def gather(system: System, campaigns: Sequence[str]) -> Books:
    """Read everything, once the campaigns have ended and every status has arrived."""
    database = system.database()
    try:
        rows = {key: Row(*found) for key, *found in database.fetch(ROWS)}
        counted = {(one, state): count for one, state, count in database.fetch(COUNTED)}
    finally:
        database.close()
    return Books(
        reports={campaign: system.report(campaign) for campaign in campaigns},
        rows=rows,
        counted=counted,
        requests=ledger.requests(system.api.ledger),
        told=ledger.acknowledged_by_wamid(system.api.ledger),
        caps=system.caps,
        left={
            name: waiting
            for name in system.deployment.queue_urls
            if not _may_hold_chunks(name) and (waiting := system.waiting(name))
        },
    )


def _may_hold_chunks(queue: str) -> bool:
    """Whether chunks whose rows are done may still lie there; parked and dead ones may not."""
    return queue.startswith("send-") and queue.endswith(LANES)

"""What must hold after every event, and what must hold at the end."""

from collections import Counter
from typing import Any, Final

import psycopg

from sluice.adapters.postgres.access import parameters_of
from sluice.domain.delivery import Status
from sluice.domain.limits import CLAIM_FRESH_SECONDS, CLAIM_SEND_BY_SECONDS
from tests.simulation.meta import Accepted, Key, Meta, ViolationError
from tests.simulation.queues import SimulatedAws

UNKNOWN_WINDOW_SECONDS: Final = 120.0
STOP_SECONDS: Final = CLAIM_FRESH_SECONDS + 0.5
"""What was claimed before a stop leaves within this."""
STALL_SECONDS: Final = 10.0
"""But where something stalled: then what is older than CLAIM_SEND_BY_SECONDS is handed back."""

ROWS: Final = """
SELECT campaign_id, seq, state::text, status::text, attempt, due_at IS NULL FROM delivery
"""
COUNTED: Final = """
SELECT state, status, count(*) FROM delivery GROUP BY 1, 2 ORDER BY 1, 2
"""
COUNTERS: Final = """
SELECT state, status, sum(deliveries)::bigint FROM campaign_counter
GROUP BY 1, 2 HAVING sum(deliveries) <> 0 ORDER BY 1, 2
"""
STOPPED: Final = "SELECT state FROM campaign WHERE campaign = 'reminder'"


class Invariants:
    """Looks at the tables and the ledger from outside."""

    def __init__(self, meta: Meta, database_url: str, *, resends: bool) -> None:
        self._meta = meta
        self._resends = resends
        parameters = parameters_of(database_url, with_iam=False, client=lambda _: None)
        self._connection: psycopg.Connection[Any] = psycopg.connect(**parameters(), autocommit=True)
        self._ranks: dict[tuple[Key, int], Status] = {}
        self._stopped_at: float | None = None
        self._finished = False

    def close(self) -> None:
        self._connection.close()

    def may_accept(self, accepted: Accepted) -> None:
        """Nothing is sent twice, but by the policy; nothing is sent long after a stop."""
        for earlier in self._meta.accepted[accepted.key]:
            if earlier.attempt == accepted.attempt:
                raise ViolationError(
                    f"{accepted.key} was accepted twice as attempt {earlier.attempt}"
                )
            doubted = self._resends and accepted.at - earlier.at >= UNKNOWN_WINDOW_SECONDS
            if not earlier.released and not doubted:
                raise ViolationError(
                    f"{accepted.key} was sent again after {accepted.at - earlier.at}"
                )
        late = STOP_SECONDS
        if accepted.disturbed_at > (self._stopped_at or 0.0) - CLAIM_SEND_BY_SECONDS:
            late = CLAIM_SEND_BY_SECONDS + STALL_SECONDS
        if self._stopped_at is not None and accepted.at > self._stopped_at + late:
            raise ViolationError(
                f"{accepted.key} left {accepted.at - self._stopped_at} after a stop"
            )

    def hold(self, now: float) -> None:
        """Every status is where it was or further, and the counters equal the rows."""
        for campaign_id, seq, _, label, attempt, _ in self._fetch(ROWS):
            status, name = Status[label.upper()], ((campaign_id, seq), attempt)
            if status < self._ranks.get(name, Status.NONE):
                raise ViolationError(f"{name} went back from {self._ranks[name]} to {status}")
            self._ranks[name] = status
        counted, counters = self._fetch(COUNTED), self._fetch(COUNTERS)
        if counted != counters:
            raise ViolationError(f"counters {counters} are not the rows {counted}")
        states = self._fetch(STOPPED)
        stopped = bool(states) and states[0][0] in ("paused", "cancelled")
        if not stopped:
            self._stopped_at = None
        elif self._stopped_at is None:
            self._stopped_at = now
        self._finished = bool(states) and not self._fetch(
            "SELECT FROM campaign WHERE finished_at IS NULL AND kind = 'campaign'"
        )

    def is_finished(self) -> bool:
        """Whether the campaign was, when last looked at."""
        return self._finished

    def end_in_time(self, now: float, *, by: float) -> None:
        """Everything ends."""
        if now > by:
            left = self._fetch(
                "SELECT d.seq, d.state, d.status, d.attempt, d.due_at, c.state, c.reason"
                " FROM campaign AS c LEFT JOIN delivery AS d"
                " ON d.campaign_id = c.campaign_id AND d.due_at IS NOT NULL LIMIT 5"
            )
            raise ViolationError(f"it does not end: {left}")

    def at_the_end(self, aws: SimulatedAws) -> None:
        """Everybody has come to one end, which is the one that Meta knows of."""
        rows = {
            (campaign_id, seq): (state, Status[label.upper()], attempt, final)
            for campaign_id, seq, state, label, attempt, final in self._fetch(ROWS)
        }
        still = {key: row for key, row in rows.items() if not row[3]}
        if still:
            raise ViolationError(f"not final: {still}")
        known = {wamid for (wamid,) in self._fetch("SELECT wamid FROM message")}
        for key, (state, status, attempt, _) in rows.items():
            sent = self._meta.accepted.get(key, [])
            self._known(key, state, sent)
            if (
                (state, status) == ("done", Status.FAILED)
                and all(one.released and (one.with_id or one.wamid in known) for one in sent)
                and (len(sent), attempt) == (1, 1)
                and not self._is_cancelled()
            ):
                raise ViolationError(
                    f"{key} failed for a reason that passes, and was not tried again"
                )
            highest = max(
                (
                    one
                    for each in sent
                    if each.attempt == attempt and (each.with_id or each.wamid in known)
                    for one in each.told
                ),
                default=Status.NONE,
            )
            if highest > Status.ACCEPTED and status not in (highest, self._silent(highest)):
                raise ViolationError(f"{key} is {status}, and Meta told {highest}")
        parked = [held.body for held in aws.queues["parked"].messages.values()]
        if parked:
            raise ViolationError(f"parked: {Counter(parked).most_common(3)}")

    @staticmethod
    def _silent(highest: Status) -> Status:
        """What it comes to where Meta says nothing until the message's time to live is over."""
        return max(highest, Status.EXPIRED)

    def _is_cancelled(self) -> bool:
        return self._fetch(STOPPED)[0][0] == "cancelled"

    def _known(self, key: Key, state: str, sent: list[Accepted]) -> None:
        standing = [one for one in sent if not one.released]
        if state == "done" and not sent:
            raise ViolationError(f"{key} is done and was never accepted")
        # What nobody can tell of, and is to be sent again, may come to any end.
        known = {"done", "unknown"} | ({"failed", "cancelled"} if self._resends else set())
        if standing and state not in known:
            raise ViolationError(f"{key} was accepted and is {state}")

    def _fetch(self, statement: str) -> list[Any]:
        return self._connection.execute(statement).fetchall()

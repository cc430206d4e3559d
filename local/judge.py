"""Holds our tables against the ledger of the simulated Cloud API, which knows what it accepted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from local.cloud_api import ledger
from local.scenarios import Audience, Scenario
from local.system import System
from sluice.domain.delivery import STATUS_OF_WEBHOOK, Status
from sluice.domain.lanes import LANES

BUSIEST_SECONDS: Final = 10.0
ROWS: Final = """
SELECT campaign_id || ':' || seq, state::text, status::text, attempt, due_at IS NULL
FROM delivery WHERE campaign_id = %s
"""
COUNTED: Final = """
SELECT state::text, sum(deliveries)::bigint FROM campaign_counter WHERE campaign_id = %s
GROUP BY 1 HAVING sum(deliveries) <> 0
"""


@dataclass(frozen=True)
class Check:
    """One thing that must hold, and what was found."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True)
class NumberUse:
    """What a number did of what it may do."""

    phone_number_id: str
    cap: int
    sends: int
    average_per_second: float
    busiest_per_second: float
    """Over the busiest ten seconds."""
    fullest_second: int
    """The most requests in any one-second window."""
    windows_over: int


@dataclass(frozen=True)
class Judgement:
    """All checks, with the figures that they were made from."""

    campaign: str
    report: Mapping[str, Any]
    numbers: tuple[NumberUse, ...]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Return it for machines."""
        return {
            "holds": self.holds,
            "campaign": self.campaign,
            "checks": [asdict(check) for check in self.checks],
            "numbers": [asdict(number) for number in self.numbers],
            "report": self.report,
        }


@dataclass(frozen=True)
class _Row:
    state: str
    status: str
    attempt: int
    final: bool


def judge(system: System, campaign: str, scenario: Scenario) -> Judgement:
    """Compare a campaign that has ended with what the Cloud API accepted and told of it."""
    report = system.report(campaign)
    database = system.database()
    rows = {key: _Row(*found) for key, *found in database.fetch(ROWS, (report["campaign_id"],))}
    counted = dict(database.fetch(COUNTED, (report["campaign_id"],)))
    database.close()
    accepted = ledger.accepted_by_opaque_id(system.api.ledger)
    numbers = tuple(_use(system, number, cap) for number, cap in sorted(system.caps.items()))
    checks = [
        _everybody(report, rows, scenario.audience),
        _final(rows),
        _counters(rows, counted),
        _nothing_lost(rows, accepted),
        _nothing_twice(system, scenario),
        _under_the_cap(numbers),
        _statuses(system, rows, accepted),
        _nothing_left(system),
    ]
    if scenario.audience.sent_to is not None:
        checks.append(_as_given(scenario.audience.sent_to, accepted))
    return Judgement(campaign, report, numbers, tuple(checks))


def _everybody(report: Mapping[str, Any], rows: Mapping[str, _Row], audience: Audience) -> Check:
    expected, rejected = audience.people, audience.rejected
    holds = len(rows) == report["total"] == expected and report["rejected"] == rejected
    return Check(
        "everybody in the audience is there once",
        holds,
        f"{len(rows)} recipients of {expected}, {report['rejected']} rejected of {rejected}",
    )


def _as_given(expected: frozenset[str], accepted: Mapping[str, list[ledger.Request]]) -> Check:
    sent = {request.recipient for requests in accepted.values() for request in requests}
    return Check(
        "everybody is sent to at the number as it was given, and nobody else",
        sent == expected,
        f"{len(sent & expected)} of {len(expected)}, {len(sent - expected)} others",
    )


def _final(rows: Mapping[str, _Row]) -> Check:
    states = Counter(row.state for row in rows.values())
    opened = sum(not row.final for row in rows.values())
    found = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return Check("every recipient is in one final state", opened == 0, found)


def _counters(rows: Mapping[str, _Row], counted: Mapping[str, int]) -> Check:
    states = Counter(row.state for row in rows.values())
    return Check("the counters equal the rows", states == counted, f"{sum(counted.values())}")


def _nothing_lost(rows: Mapping[str, _Row], accepted: Mapping[str, list[ledger.Request]]) -> Check:
    sent = {opaque_id.rpartition(":")[0] for opaque_id in accepted}
    done = {key for key, row in rows.items() if row.state == "done"}
    # Unknown is known to be unknown: the policy left it so, and the report counts it.
    doubted = {key for key, row in rows.items() if row.state in ("unknown", "failed")}
    unsent, unseen = done - sent, sent - done - doubted
    return Check(
        "nothing is lost",
        not unsent and not unseen,
        f"{len(sent)} accepted, {len(done)} done; {len(unsent)} done but never accepted, "
        f"{len(unseen)} accepted but not known",
    )


def _nothing_twice(system: System, scenario: Scenario) -> Check:
    doubled = ledger.duplicates(system.api.ledger)
    by_policy = [one for one in doubled if len(set(one.attempts)) == len(one.attempts)]
    wrong = len(doubled) - (len(by_policy) if scenario.resends else 0)
    found = f"{len(doubled)} sent twice"
    if scenario.resends:
        found += f", {len(by_policy)} of them by the policy `resend`"
    return Check("nothing is sent twice", wrong == 0, found)


def _under_the_cap(numbers: Iterable[NumberUse]) -> Check:
    over = sum(number.windows_over for number in numbers)
    fullest = max((number.fullest_second for number in numbers), default=0)
    return Check(
        "no window is over the cap", over == 0, f"at most {fullest} in a second, {over} over"
    )


def _statuses(
    system: System, rows: Mapping[str, _Row], accepted: Mapping[str, list[ledger.Request]]
) -> Check:
    told = ledger.acknowledged_by_wamid(system.api.ledger)
    wrong = 0
    for opaque_id, requests in accepted.items():
        key, _, attempt = opaque_id.rpartition(":")
        row = rows.get(key)
        if row is None or row.attempt != int(attempt):
            continue
        ranks = [
            STATUS_OF_WEBHOOK[status.status]
            for request in requests
            for status in told.get(request.wamid, [])
            if status.status in STATUS_OF_WEBHOOK
        ]
        highest = max(ranks, default=Status.NONE)
        wrong += highest > Status.ACCEPTED and row.status != highest.label
    count = sum(len(statuses) for statuses in told.values())
    return Check(
        "every status is the highest that was told", wrong == 0, f"{count} told, {wrong} differ"
    )


def _nothing_left(system: System) -> Check:
    left = {
        name: waiting
        for name in system.deployment.queue_urls
        if (waiting := system.waiting(name)) and not name.startswith("send-")
    }
    # Chunks whose rows are done may still lie in a lane's queue; parked and dead ones may not.
    left |= {
        name: waiting
        for name in system.deployment.queue_urls
        if name.startswith("send-") and not name.endswith(LANES)
        and (waiting := system.waiting(name))
    }  # fmt: skip
    return Check("nothing is parked, dead or unrouted", not left, str(left or "all queues empty"))


def _use(system: System, number: str, cap: int) -> NumberUse:
    times = sorted(
        request.arrived
        for request in ledger.requests(system.api.ledger)
        if request.phone_number_id == number
    )
    window = ledger.windows_over(system.api.ledger, system.caps).get(number)
    seconds = times[-1] - times[0] if len(times) > 1 else 0.0
    return NumberUse(
        number,
        cap,
        len(times),
        round((len(times) - 1) / seconds, 2) if seconds else 0.0,
        round(_busiest(times), 2),
        window.offered_max if window else 0,
        window.offered_windows_over if window else 0,
    )


def _busiest(times: list[float]) -> float:
    most = first = 0
    for last, at in enumerate(times):
        while at - times[first] >= BUSIEST_SECONDS:
            first += 1
        most = max(most, last - first + 1)
    return most / BUSIEST_SECONDS

"""Campaigns to many people: held until an approval, whatever else is ordered or happens."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from sluice.adapters.postgres.approvals import Approvals, hold_if_large
from sluice.adapters.postgres.loads import Loads
from sluice.adapters.postgres.orders import Orders
from sluice.domain.audit import Origin
from sluice.domain.models.command import Decision
from sluice.domain.topup import Demand
from tests.conftest import NOW, NUMBER, connect

LATER = NOW + timedelta(days=1)
GRACE = Origin("AROAEXAMPLE:grace", "principal", "message-1")
APPROVE = Decision(action="approve", campaign="reminder")
DECLINE = Decision(action="decline", campaign="reminder", reason="The date is wrong.")
TEMPLATE = {"name": "vaccination_reminder", "language": "en_us"}


@pytest.fixture
def world(world):
    """A stage in which more than three people need an approval."""
    world.loads = Loads(world.database, approval_above=3)
    world.approvals = Approvals(world.database)
    return world


def demands(world, now=NOW) -> list[Demand]:
    with world.picks.round(now=now) as current:
        return current.demands()


def columns(world):
    return world.database.fetch(
        "SELECT state, reason, approval, approved_at, approved_by FROM campaign"
    )[0]


def actions(world):
    rows = world.reports.audit("campaign reminder", limit=100)
    return [(row["actor"], row["action"]) for row in reversed(rows)]


@pytest.mark.parametrize(("people", "held"), [(1, False), (3, False), (4, True), (50, True)])
def test_a_campaign_to_more_people_than_the_limit_is_held(world, people, held):
    world.campaign(people)

    assert (demands(world) == []) is held
    assert (world.reconciliations.standing().awaiting_approval == 1) is held
    assert (("sluice", "held for approval") in actions(world)) is held


@pytest.mark.parametrize("above", [None, 0])
def test_without_a_limit_nothing_is_held_and_with_none_allowed_everything_is(world, above):
    world.loads = Loads(world.database, approval_above=above)
    world.campaign(1)

    assert (demands(world) == []) is (above == 0)


def test_who_is_dropped_at_load_does_not_count(world):
    world.campaign(4)
    world.database.fetch("UPDATE campaign SET loaded_at = NULL, approval = NULL")
    world.database.fetch("UPDATE recipient SET match_key = '+1' WHERE seq < 3")

    world.loads.seal(1, now=NOW)

    assert columns(world)[2] is None


WHAT_MAY_HAPPEN = {
    "resumed": lambda world, _: world.orders.command_campaign(
        "reminder", state="running", reason=None
    ),
    "paused and resumed": lambda world, _: [
        world.orders.command_campaign("reminder", state=state, reason=None)
        for state in ("paused", "running")
    ],
    "given priority": lambda world, _: world.orders.prioritise("reminder", priority="normal"),
    "its template is approved again": lambda world, _: [
        world.stops.pause_template("1", reason="template paused: X", **TEMPLATE),
        world.stops.resume_template("1", **TEMPLATE),
    ],
    "its pause is over": lambda world, campaign_id: world.stops.pause_campaign(
        campaign_id, until=NOW, reason="130472"
    ),
    "its number is resumed": lambda world, _: world.orders.resume_number(NUMBER),
    "published again": lambda world, _: world.campaign(4),
    "sealed again": lambda world, campaign_id: world.loads.seal(campaign_id, now=LATER),
    "its lane is idle": lambda world, _: world.queue(_, 0),
}


STAGED = {"stages": [{"recipients": 1}]}
HELD = [
    (event, changes)
    for event in WHAT_MAY_HAPPEN
    for changes in ({}, STAGED)
    # It is published again as it is without stages.
    if (event, changes) != ("published again", STAGED)
]


@pytest.mark.parametrize(("event", "changes"), HELD)
def test_nothing_but_the_approval_lets_a_held_campaign_go(world, event, changes):
    campaign_id = world.campaign(4, **changes)

    WHAT_MAY_HAPPEN[event](world, campaign_id)
    for staged in world.stages.staged():
        assert type(staged.verdict(now=LATER)).__name__ == "Waits"

    assert demands(world, LATER) == []
    assert columns(world)[0] == "running"
    assert world.approvals.decide(APPROVE, origin=GRACE, now=LATER)
    assert len(demands(world, LATER)) == 1


def test_an_approved_campaign_is_sent_and_says_who_approved_it(world):
    campaign_id = world.campaign(4)

    assert world.approvals.decide(APPROVE, origin=GRACE, now=LATER)

    assert len(demands(world)) == 1
    assert len(world.queue(campaign_id)) == 1
    assert columns(world) == ("running", None, "given", LATER, "AROAEXAMPLE:grace")
    assert actions(world)[-1] == ("AROAEXAMPLE:grace", "approve")


def test_a_campaign_that_is_paused_is_approved_and_stays_paused(world):
    world.campaign(4)
    world.orders.command_campaign("reminder", state="paused", reason="wait")

    assert world.approvals.decide(APPROVE, origin=GRACE, now=NOW)

    assert columns(world)[:3] == ("paused", "wait", "given")
    assert demands(world) == []


def test_a_declined_campaign_is_cancelled_for_good(world):
    world.campaign(4)

    assert world.approvals.decide(DECLINE, origin=GRACE, now=NOW)
    world.orders.command_campaign("reminder", state="running", reason=None)

    assert columns(world)[:3] == ("cancelled", "The date is wrong.", "declined")
    assert world.reconciliations.standing().awaiting_approval == 0
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    assert len(world.reconciliations.close_waiting(campaign, state="cancelled", limit=100)) == 4
    assert world.reconciliations.finish(campaign, now=NOW)


@pytest.mark.parametrize("second", [APPROVE, DECLINE])
def test_the_first_decision_counts_and_is_noted_once(world, second):
    world.campaign(4)

    assert world.approvals.decide(APPROVE, origin=GRACE, now=NOW)
    assert not world.approvals.decide(second, origin=GRACE, now=LATER)

    assert columns(world)[2:] == ("given", NOW, "AROAEXAMPLE:grace")
    assert [action for _, action in actions(world)].count("approve") == 1
    assert ("AROAEXAMPLE:grace", "decline") not in actions(world)


@pytest.mark.parametrize("state", ["cancelled", "finished"])
def test_what_has_ended_is_not_approved(world, state):
    world.campaign(4)
    world.database.fetch("UPDATE campaign SET state = %s", (state,))

    assert not world.approvals.decide(APPROVE, origin=GRACE, now=NOW)
    assert columns(world)[2] == "awaited"


def test_of_an_approval_and_a_cancellation_at_once_nobody_is_sent_to(world, database_url):
    world.campaign(4)
    databases = [connect(database_url) for _ in range(2)]
    orders = [
        lambda: Approvals(databases[0]).decide(APPROVE, origin=GRACE, now=NOW),
        lambda: Orders(databases[1]).command_campaign("reminder", state="cancelled", reason=None),
    ]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda order: order(), orders))
    for database in databases:
        database.close()

    assert columns(world)[0] == "cancelled"
    assert demands(world) == []


def test_a_held_campaign_expires_in_its_time(world):
    world.campaign(4, expires_at=LATER.isoformat())
    after = LATER + timedelta(seconds=1)

    (campaign,) = world.reconciliations.open_campaigns(now=after)
    world.reconciliations.close_waiting(campaign, state="expired", limit=100)

    assert world.reconciliations.finish(campaign, now=after)
    assert not world.approvals.decide(APPROVE, origin=GRACE, now=after)
    assert world.reconciliations.standing().awaiting_approval == 0


def test_people_who_are_added_to_an_approved_campaign_need_another_approval(world):
    campaign_id = world.campaign(4)
    world.approvals.decide(APPROVE, origin=GRACE, now=NOW)

    def add(connection):
        with connection.transaction():
            return hold_if_large(connection, campaign_id, people=4, above=3)

    assert world.database.run(add)
    assert demands(world) == []
    again = Origin("AROAEXAMPLE:grace", "principal", "message-2")
    assert world.approvals.decide(APPROVE, origin=again, now=LATER)
    assert len(demands(world)) == 1

"""Who did what: noted with the change, once, and for good."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, RaiseException

from sluice.domain.audit import ENGINE, Entry, Origin
from sluice.domain.brakes import StopAccount, StopNumber
from sluice.domain.clock import FOREVER
from sluice.domain.stages import StagedCampaign
from tests.conftest import NOW, NUMBER, OTHER_NUMBER, connect

ADA = Origin("ada", "declared", "message-1")


def notes(world, subject=None):
    """(actor, action) of everything that was done, the oldest first."""
    return [
        (row["actor"], row["action"]) for row in reversed(world.reports.audit(subject, limit=100))
    ]


def details(world, action):
    return [
        row["details"] for row in world.reports.audit(None, limit=100) if row["action"] == action
    ]


def state(world):
    return world.database.fetch("SELECT state FROM campaign")[0][0]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET actor = 'somebody else'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "SET session_replication_role = replica; DELETE FROM audit",
        "UPDATE audit SET actor = actor WHERE false",
    ],
)
def test_a_row_is_never_changed_nor_removed(world, database_url, change):
    world.audit.note(ADA, Entry("test", "campaign reminder", {}))
    before = world.reports.audit(None, limit=10)

    with (
        psycopg.connect(database_url, autocommit=True) as connection,
        pytest.raises(RaiseException, match="append-only"),
    ):
        connection.execute(change)

    assert world.reports.audit(None, limit=10) == before


def test_the_owner_of_the_table_has_no_right_to_change_it(world):
    world.database.fetch("SELECT 1")

    owner = world.database.fetch(
        "SELECT privilege_type FROM information_schema.table_privileges WHERE table_name = 'audit'"
    )

    assert {"UPDATE", "DELETE", "TRUNCATE"}.isdisjoint(right for (right,) in owner)


def test_who_is_no_superuser_is_refused_before_the_trigger(world, database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE audited_owner")
        try:
            connection.execute("ALTER TABLE audit OWNER TO audited_owner")
            connection.execute("SET ROLE audited_owner")
            with pytest.raises(InsufficientPrivilege):
                connection.execute("DELETE FROM audit")
            connection.execute(
                "INSERT INTO audit (via, action, subject, message_id)"
                " VALUES ('topic', 'a', '', '1') ON CONFLICT (message_id, action) DO NOTHING"
            )
        finally:
            connection.execute("RESET ROLE")
            connection.execute("ALTER TABLE audit OWNER TO CURRENT_USER")
            connection.execute("DROP ROLE audited_owner")


ORDERS = {
    "pause": lambda orders, origin: orders.command_campaign(
        "reminder", state="paused", reason="wait", origin=origin
    ),
    "cancel": lambda orders, origin: orders.command_campaign(
        "reminder", state="cancelled", reason=None, origin=origin
    ),
    "prioritise": lambda orders, origin: orders.prioritise(
        "reminder", priority="deferrable", origin=origin
    ),
    "pause a number": lambda orders, origin: orders.pause_number(
        NUMBER, until=FOREVER, reason="wait", origin=origin
    ),
    "resume a number": lambda orders, origin: orders.resume_number(NUMBER, origin=origin),
}


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_noted_once_however_often_it_comes(world, order):
    world.campaign()

    answers = [ORDERS[order](world.orders, ADA) for _ in range(3)]

    assert len(set(answers)) == 1
    assert notes(world)[2:] == [("ada", order.split()[0])]


def test_an_order_that_comes_again_after_another_one_is_not_carried_out_again(world):
    world.campaign()
    resume = Origin("ada", "declared", "message-2")
    ORDERS["pause"](world.orders, ADA)
    world.orders.command_campaign("reminder", state="running", reason=None, origin=resume)

    assert ORDERS["pause"](world.orders, ADA) == "running"
    assert state(world) == "running"


@pytest.mark.parametrize("late", ["paused", "running"])
def test_an_order_that_a_newer_one_overtook_is_noted_and_not_carried_out(world, late):
    world.campaign()
    newer = "running" if late == "paused" else "paused"
    for at, name, wanted in [(2, "message-2", newer), (1, "message-1", late)]:
        origin = Origin("ada", "declared", name, NOW + timedelta(seconds=at))
        found = world.orders.command_campaign(
            "reminder", state=wanted, reason="wait", origin=origin
        )

    assert found == state(world) == newer
    told = "SELECT details ->> 'overtaken_by' FROM audit WHERE message_id = 'message-1'"
    assert world.database.fetch(told) == [("message-2",)]


def test_what_was_overtaken_overtakes_nothing(world):
    world.campaign()
    for at, wanted in [(3, "running"), (2, "paused"), (1, "running"), (4, "paused")]:
        origin = Origin("ada", "declared", f"message-{at}", NOW + timedelta(seconds=at))
        world.orders.command_campaign("reminder", state=wanted, reason="wait", origin=origin)

    assert state(world) == "paused"


def test_an_order_to_cancel_is_in_force_however_late_it_comes(world):
    world.campaign()
    for at, wanted in [(2, "running"), (1, "cancelled")]:
        origin = Origin("ada", "declared", f"message-{at}", NOW + timedelta(seconds=at))
        world.orders.command_campaign("reminder", state=wanted, reason=None, origin=origin)

    assert state(world) == "cancelled"


def test_an_order_about_nothing_is_not_noted(world):
    assert ORDERS["pause"](world.orders, ADA) is None
    assert world.orders.resume_number("1", origin=ADA) is False
    assert notes(world) == []


def test_an_order_whose_note_fails_is_not_carried_out(world):
    world.campaign()
    nonsense = Origin("ada", "guessed", "message-1")

    with pytest.raises(psycopg.errors.CheckViolation):
        ORDERS["pause"](world.orders, nonsense)

    assert state(world) == "running"


def test_deliveries_of_one_order_at_the_same_time_are_one_order(world, database_url):
    world.campaign()
    databases = [connect(database_url) for _ in range(4)]

    def obey(database):
        return ORDERS["pause"](type(world.orders)(database), ADA)

    with ThreadPoolExecutor(len(databases)) as threads:
        answers = list(threads.map(obey, databases))
    for database in databases:
        database.close()

    assert answers == ["paused"] * 4
    assert notes(world)[2:] == [("ada", "pause")]


def test_a_campaign_is_noted_with_who_published_it_and_its_size_when_it_is_loaded(world):
    world.campaign(5)
    world.campaign(5)

    assert notes(world, "campaign reminder") == [("sluice", "create"), ("sluice", "loaded")]
    (created,), (loaded,) = details(world, "create"), details(world, "loaded")
    assert created["numbers"] == 1
    assert created["template"] == "vaccination_reminder en_US"
    assert loaded == {"people": 5, "rejected": 0}


def staged(campaign_id):
    return StagedCampaign(campaign_id, (), 0, 0, None, untried=False, counts=[])


FOREIGN = {"name": "vaccination_reminder", "language": "en_us"}
BY_ITSELF = {
    "pauses for an error": (
        lambda world, _: world.stops.pause_campaign(_, until=None, reason="132001 no template"),
        "campaign reminder",
        [("sluice", "paused")],
    ),
    "pauses a template": (
        lambda world, _: world.stops.pause_template("1", reason="template paused: X", **FOREIGN),
        "campaign reminder",
        [("meta", "paused")],
    ),
    "passes a stage": (
        lambda world, campaign: world.stages.go_on(staged(campaign)),
        "campaign reminder",
        [("sluice", "stage passed")],
    ),
    "holds at a stage": (
        lambda world, campaign: world.stages.hold(staged(campaign), reason="too many failed"),
        "campaign reminder",
        [("sluice", "paused")],
    ),
    "stops a number": (
        lambda world, _: world.stops.stop_sending(NUMBER, StopNumber(FOREVER, "131042"), now=NOW),
        f"number {NUMBER}",
        [("sluice", "paused")],
    ),
    "stops an account": (
        lambda world, _: world.stops.stop_sending(NUMBER, StopAccount(FOREVER, "190"), now=NOW),
        f"number {OTHER_NUMBER}",
        [("sluice", "paused")],
    ),
    "hears of a restriction": (
        lambda world, _: world.stops.pause_numbers("1", until=FOREVER, reason="restricted"),
        f"number {NUMBER}",
        [("meta", "paused")],
    ),
    "drains a number": (
        lambda world, _: world.configure(state="draining"),
        f"number {NUMBER}",
        [("sluice", "draining")],
    ),
}


@pytest.mark.parametrize("change", BY_ITSELF)
def test_what_the_engine_does_by_itself_is_noted_once(world, change):
    act, subject, expected = BY_ITSELF[change]
    campaign_id = world.campaign()
    known = len(notes(world, subject))

    act(world, campaign_id)
    act(world, campaign_id)

    assert notes(world, subject)[known:] == expected


def test_a_pause_that_ends_is_noted(world):
    campaign_id = world.campaign()
    world.stops.pause_campaign(campaign_id, until=NOW, reason="130472")
    world.stops.pause_numbers("1", until=FOREVER, reason="restricted")

    with world.picks.round(now=NOW + timedelta(seconds=1)) as current:
        current.demands()
    world.stops.resume_numbers("1", prefix="restricted")

    assert notes(world, "campaign reminder")[-2:] == [("sluice", "paused"), ("sluice", "resumed")]
    assert notes(world, f"number {NUMBER}") == [("meta", "paused"), ("meta", "resumed")]


def test_a_storm_of_throttles_is_noted_once_and_a_later_one_again(world):
    for seconds in (*range(0, 30, 2), 3600):
        now = NOW + timedelta(seconds=seconds)
        stop = StopNumber(now + timedelta(seconds=5), "130429 Rate limit hit", slower=True)
        world.stops.stop_sending(NUMBER, stop, now=now)

    assert notes(world, f"number {NUMBER}") == [("sluice", "paused")] * 2


def test_a_person_whom_meta_names_in_a_reason_is_not_noted(world):
    campaign_id = world.campaign()
    world.stops.pause_campaign(campaign_id, until=None, reason="131026 +12025550101 is away")
    world.stops.stop_sending(NUMBER, StopNumber(FOREVER, "131031 12025550101"), now=NOW)

    reasons = [found["reason"] for found in details(world, "paused")]
    assert reasons == ["131031 …", "131026 +… is away"]


def test_loading_and_releasing_are_not_noted(world):
    campaign_id = world.campaign(3, stages=[{"recipients": 1}])
    known = len(notes(world))

    world.queue(campaign_id)
    world.claim(campaign_id)

    assert len(notes(world)) == known


def test_the_latest_is_told_first_and_no_more_than_is_asked_for(world):
    for place in range(5):
        world.audit.note(ENGINE, Entry(f"act {place}", "", {}))

    assert [row["action"] for row in world.reports.audit(None, limit=2)] == ["act 4", "act 3"]

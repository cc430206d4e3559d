"""status.handle on real Postgres."""

import json
from types import SimpleNamespace

import pytest

from functions.status.handler import handle
from local.processes import free_port
from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.postgres.statuses import Statuses
from tests.conftest import connect
from tests.integration.functions.ports import Telemetry, event_of, failed, parked, samples

REACHED = {
    "delivered_after_failed": {0: "delivered"},
    "duplicate": {1: "sent"},
    "failed": {0: "failed"},
    "failed_after_sent": {0: "failed"},
    "held_dropped": {0: "failed"},
    "late_sent_after_failed": {0: "failed"},
    "marketing_limit": {0: "failed"},
    "out_of_order": {0: "delivered", 1: "sent"},
    "poison_among_good": {0: "delivered", 1: "sent"},
    "statuses": {0: "delivered", 1: "sent"},
    "unknown_campaign": {},
    "unmatched": {},
    "wrong_shape": {},
}


@pytest.fixture
def status(world, aws, clock):
    telemetry = Telemetry()

    def run(event, *, statuses=None):
        return handle(
            event,
            statuses=statuses or world.statuses,
            stops=world.stops,
            parking=aws.parking(),
            telemetry=telemetry,
            clock=clock,
            dice=lambda: 0.5,
        )

    return SimpleNamespace(run=run, telemetry=telemetry)


@pytest.fixture
def campaign(world):
    """The campaign of the samples, whose positions begin at 0 and whose attempts are 0."""
    campaign_id = world.campaign(100)
    for table in ("recipient", "delivery"):
        world.database.fetch(f"UPDATE {table} SET seq = seq - 1")
    assert campaign_id == 1
    return campaign_id


def reached(world):
    """Deliveries that have a status, by position."""
    return dict(
        world.database.fetch(
            "SELECT seq, status::text FROM delivery WHERE status <> 'none' ORDER BY 1"
        )
    )


def sent(seq=1, **changes):
    return {"id": f"wamid.{seq}", "status": "sent", "timestamp": "1772355600"} | {
        "opaque": f"1:{seq}:0",
        **changes,
    }


@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize("sample", sorted(set(samples("status")) - {"many_statuses"}))
@pytest.mark.parametrize("times", [1, 2])
def test_a_sample_reaches_its_deliveries_however_often_it_comes(
    status, world, load_event, sample, times
):
    for _ in range(times):
        assert not failed(status.run(load_event(f"status/{sample}")))

    assert reached(world) == REACHED[sample]
    assert world.counters_equal_rows()


@pytest.mark.usefixtures("campaign")
def test_a_held_message_that_was_dropped_waits_for_its_campaign(status, world, load_event):
    status.run(load_event("status/held_dropped"))

    assert world.row(1, 0)["state"] == "pending"
    assert world.database.fetch("SELECT state FROM campaign") == [("paused",)]
    assert status.telemetry.counts()["NeedsPerson"] == 1


@pytest.mark.usefixtures("campaign")
def test_a_full_batch_is_applied_whole(status, world, load_event):
    event = load_event("status/many_statuses")

    assert not failed(status.run(event))

    told = [one for record in event["Records"] for one in json.loads(record["body"])["statuses"]]
    seqs = {int(one["opaque"].split(":")[1]) for one in told}
    assert reached(world) == dict.fromkeys(sorted(seqs), "read")
    assert status.telemetry.counts()["StatusesApplied"] == len(told)


@pytest.mark.usefixtures("campaign")
def test_a_failed_status_keeps_its_error_code(status, world, load_event):
    status.run(load_event("status/marketing_limit"))

    assert world.row(1, 0)["error_code"] == 131049
    # The marketing limit passes: it is tried again, a day later at the earliest.
    assert world.row(1, 0)["state"] == "pending"


@pytest.mark.usefixtures("campaign")
def test_poison_among_good_ones_is_parked_and_the_good_ones_are_applied(
    status, world, aws, load_event
):
    answer = status.run(load_event("status/poison_among_good"))

    (envelope,) = parked(aws)
    assert not failed(answer)
    assert envelope["body"] == "not JSON"
    assert envelope["reasons"] == ["not a message of statuses"]
    assert reached(world) == {0: "delivered", 1: "sent"}


@pytest.mark.parametrize(
    "body", ["", "not JSON", "[]", '{"statuses": {}}', '{"statuses": [5]}', '{"signals": []}']
)
def test_what_is_no_message_of_statuses_is_parked(status, aws, body):
    assert not failed(status.run(event_of(body)))

    assert len(aws.bodies("parked")) == 1


def test_a_status_of_a_strange_shape_is_counted_as_invalid(status):
    status.run(event_of({"statuses": [{"id": "wamid.A"}, sent(timestamp="yesterday")]}))

    assert status.telemetry.counts()["StatusesInvalid"] == 2


def test_a_status_without_our_id_is_kept_until_its_message_is_known(status, world, load_event):
    status.run(load_event("status/unmatched"))

    kept = world.database.fetch("SELECT wamid, status::text FROM orphan_status ORDER BY 1")
    assert kept == [("wamid.FOREIGN", "read"), ("wamid.SOMEBODYELSE", "delivered")]
    assert status.telemetry.counts()["OrphanStatuses"] == 2


@pytest.mark.usefixtures("campaign")
def test_a_message_that_cannot_be_written_comes_again_alone(status, world):
    class Picky:
        def __getattr__(self, name):
            return getattr(world.statuses, name)

        def apply(self, updates, **more):
            if any(update.seq == 7 for update in updates):
                raise ValueError("a poison row")
            return world.statuses.apply(updates, **more)

    event = event_of(*({"statuses": [sent(seq)]} for seq in range(3, 13)))

    answer = status.run(event, statuses=Picky())

    assert failed(answer) == ["message-4"]
    assert sorted(reached(world)) == [3, 4, 5, 6, 8, 9, 10, 11, 12]
    assert status.telemetry.counts()["StatusMessagesFailed"] == 1
    assert isinstance(status.telemetry.failures[0], ValueError)


@pytest.mark.usefixtures("campaign")
def test_the_age_of_the_oldest_status_is_told(status, clock):
    then = int(clock.now().timestamp()) - 40

    status.run(event_of({"statuses": [sent(), sent(2, timestamp=str(then))]}))

    assert status.telemetry.facts("seconds") == [{"WebhookLag": 40.0}]


def test_while_the_database_is_away_the_whole_batch_comes_again(status, load_event):
    away = connect(f"postgresql://sluice@127.0.0.1:{free_port()}/sluice")

    with pytest.raises(DatabaseAwayError):
        status.run(load_event("status/statuses"), statuses=Statuses(away))

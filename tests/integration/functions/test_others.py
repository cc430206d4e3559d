"""dispatch, reconcile and migrate: their handlers on real Postgres."""

import json
from types import SimpleNamespace

import pytest

from functions.dispatch.handler import handle as dispatch
from functions.migrate.handler import handle as migrate
from functions.reconcile.handler import handle as reconcile
from sluice.adapters.postgres.migrate import migrations
from sluice.adapters.queues import Topic
from sluice.domain.requests import Chunk, parse
from sluice.metrics import METRICS
from tests.conftest import NUMBER, OTHER_NUMBER, SetClock, connect
from tests.integration.functions.ports import Telemetry, Waker, samples

NUMBERS = [
    {
        "phone_number_id": number,
        "account_id": "1",
        "portfolio_id": "1",
        "messages_per_second": 80,
        "send_rate": 76.0,
        "lanes": {
            "conversation": {"send_rate": 15.2, "messages_at_once": 1},
            "bulk": {"send_rate": 76.0, "messages_at_once": 1},
        },
        "state": "active",
    }
    for number in (NUMBER, OTHER_NUMBER)
]


def done(telemetry):
    """What a run counted, but for how much there is of what."""
    return {
        name: count
        for name, count in telemetry.counts().items()
        if name not in METRICS or not METRICS[name].gauge
    }


@pytest.fixture
def at_work(world):
    """A clock on which senders claim everything that is queued while dispatch sleeps."""

    class AtWork(SetClock):
        def sleep(self, seconds):
            super().sleep(seconds)
            query = "SELECT campaign_id, seq FROM delivery WHERE state = 'queued' ORDER BY 1, 2"
            for campaign_id, seq in world.database.fetch(query):
                world.claim(campaign_id, [seq], now=self.now())

    return AtWork()


@pytest.fixture
def dispatched(world, aws, at_work, load_event):
    """Runs dispatch on a topic that a queue listens to; returns what arrived there."""
    sns = aws.client("sns")
    arn = sns.create_topic(Name="campaign-requests")["TopicArn"]
    queue = aws.sqs.get_queue_attributes(QueueUrl=aws.url("all"), AttributeNames=["QueueArn"])
    sns.subscribe(
        TopicArn=arn,
        Protocol="sqs",
        Endpoint=queue["Attributes"]["QueueArn"],
        Attributes={"RawMessageDelivery": "true"},
    )
    telemetry = Telemetry()

    def run(sample="scheduled", clock=at_work):
        dispatch(
            load_event(f"dispatch/{sample}"),
            numbers=NUMBERS,
            picks=world.picks,
            topic=Topic(sns, arn=arn),
            telemetry=telemetry,
            clock=clock,
        )
        return aws.letters("all")

    return SimpleNamespace(run=run, telemetry=telemetry)


@pytest.mark.parametrize("sample", samples("dispatch"))
def test_dispatch_publishes_chunks_that_the_sender_can_read(dispatched, world, sample):
    campaign_id = world.campaign(60)

    letters = dispatched.run(sample)

    chunks = [parse(letter.body, letter.attributes) for letter in letters]
    assert all(isinstance(chunk, Chunk) for chunk in chunks)
    assert {chunk.campaign_id for chunk in chunks} == {campaign_id}
    assert sorted(seq for chunk in chunks for seq in chunk.seqs) == list(range(1, 61))
    assert world.states(campaign_id) == {"sending": 60}


def test_dispatch_says_by_attributes_where_a_chunk_goes(dispatched, world):
    world.campaign(3)

    (letter,) = dispatched.run()

    assert letter.attributes == {"kind": "send", "phone_number_id": NUMBER, "lane": "bulk"}


def test_a_chunk_holds_ids_and_nobody_s_number(dispatched, world):
    world.campaign(3)

    (letter,) = dispatched.run()

    assert json.loads(letter.body).keys() == {"kind", "campaign_id", "seqs"}


def test_dispatch_without_work_publishes_nothing(dispatched):
    assert dispatched.run() == []
    assert dispatched.telemetry.counts() == {}


def test_dispatch_counts_deliveries_and_chunks(dispatched, world):
    world.campaign(60)

    letters = dispatched.run()

    assert dispatched.telemetry.counts() == {"Dispatched": 60, "Chunks": len(letters)}
    assert world.database.fetch("SELECT count(*) FROM chunk") == [(0,)]


def test_chunks_that_a_killed_dispatcher_left_are_published_later(dispatched, world, at_work):
    campaign_id = world.campaign(25)
    world.queue(campaign_id)
    at_work.advance(60)

    letters = dispatched.run()

    assert json.loads(letters[0].body)["seqs"] == list(range(1, 26))
    assert dispatched.telemetry.counts()["ChunksLeftOver"] == 1


def test_chunks_that_no_sender_ever_claims_are_published_once_more(dispatched, world, clock):
    world.campaign(60)

    letters = dispatched.run(clock=clock)

    seqs = [seq for letter in letters for seq in json.loads(letter.body)["seqs"]]
    assert sorted(seqs) == sorted([*range(1, 61)] * 2)
    assert dispatched.telemetry.counts()["Requeued"] == 60


@pytest.fixture
def reconciled(world, clock, load_event):
    telemetry, waker = Telemetry(), Waker()

    def run(sample="scheduled"):
        reconcile(
            load_event(f"reconcile/{sample}"),
            reconciliations=world.reconciliations,
            statuses=world.statuses,
            stages=world.stages,
            silences=world.silences,
            limits=world.limits,
            frequency_cap=None,
            waker=waker,
            telemetry=telemetry,
            clock=clock,
            dice=lambda: 0.5,
            deadline=clock.monotonic() + 60,
        )

    return SimpleNamespace(run=run, telemetry=telemetry, waker=waker)


@pytest.mark.parametrize("sample", samples("reconcile"))
def test_reconcile_counts_what_it_came_back_to_and_wakes_dispatch(reconciled, world, clock, sample):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    clock.advance(901)

    reconciled.run(sample)

    assert world.states(campaign_id) == {"pending": 3}
    assert done(reconciled.telemetry) == {"Requeued": 3}
    assert reconciled.waker.wakes == 1


def test_reconcile_wakes_nobody_for_nothing(reconciled, world):
    world.campaign()

    reconciled.run()

    assert reconciled.waker.wakes == 0
    assert done(reconciled.telemetry) == {}


def test_reconcile_names_the_campaigns_that_are_over(reconciled, world):
    campaign_id = world.campaign(0)

    reconciled.run()

    assert reconciled.telemetry.facts("finished") == [[campaign_id]]
    assert done(reconciled.telemetry) == {"CampaignsFinished": 1}


def test_reconcile_notes_progress_and_forgets_it_after_hours(reconciled, world, database, clock):
    world.campaign()
    reconciled.run()
    clock.advance(3 * 3600 + 1)

    reconciled.run()

    assert database.fetch("SELECT at, done FROM campaign_progress") == [(clock.now(), 0)]


@pytest.fixture
def empty_database(postgres):
    url = postgres.create_database("empty")
    database = connect(url)
    yield database
    database.close()


def test_migrate_applies_everything_once(empty_database):
    first = migrate({}, database=empty_database)
    second = migrate({}, database=empty_database)

    assert first == {"applied": [name for name, _ in migrations()]}
    assert second == {"applied": []}


def test_a_campaign_whose_stage_failed_is_stopped_and_needs_a_person(reconciled, world, clock):
    campaign_id = world.campaign(5, stages=[{"recipients": 1, "wait_seconds": 0}])
    clock.advance(1)
    with world.picks.round(now=clock.now()) as current:
        (demand,) = current.demands()
        current.pick(NUMBER, "bulk", campaign_id, rows=5, size=5, gate=demand.gate)
    world.database.fetch(
        "UPDATE delivery SET state = 'failed', due_at = NULL WHERE state = 'queued'"
    )

    reconciled.run()

    assert done(reconciled.telemetry) == {"NeedsPerson": 1}
    assert reconciled.telemetry.facts("stages_held") == [[campaign_id]]


def test_a_stage_that_is_passed_wakes_dispatch(reconciled, world, clock):
    campaign_id = world.campaign(5, stages=[{"recipients": 1, "wait_seconds": 0}])
    clock.advance(1)
    with world.picks.round(now=clock.now()) as current:
        (demand,) = current.demands()
        current.pick(NUMBER, "bulk", campaign_id, rows=5, size=5, gate=demand.gate)
    world.database.fetch(
        "UPDATE delivery SET state = 'done', status = 'read', due_at = NULL WHERE state = 'queued'"
    )

    reconciled.run()

    assert done(reconciled.telemetry) == {"StagesPassed": 1}
    assert reconciled.telemetry.facts("stages_passed") == [[campaign_id]]
    assert reconciled.waker.wakes == 1

"""Canary and ramp on the real statements: no more than a stage lets go, and no stage skipped."""

import random
from collections import Counter
from datetime import timedelta

import pytest

from sluice.adapters.postgres.stages import Stages
from sluice.domain.claim import Key
from sluice.domain.delivery import Status, StatusUpdate
from sluice.domain.outcomes import Accepted, Failed, Retry, Throttled, Unknown
from sluice.domain.results import handed_back, result_of
from sluice.domain.suppressions import Suppression
from sluice.steps.dispatch import dispatch
from sluice.steps.reconcile import reconcile
from tests.conftest import LANES, NOW, NUMBER, OTHER_NUMBER, World, connect

FAILURE = Failed(131026, "undeliverable")
RETRY = Retry(131000, "try again", after_seconds=0, base_seconds=5, cap_seconds=600)


class Topic:
    def publish_chunks(self, chunks):
        pass


class Campaign:
    """A campaign with stages, and what happens to it."""

    def __init__(self, world, clock, recipients=100, **changes):
        self.world, self.clock = world, clock
        self.campaign_id = world.campaign(recipients, name="ramp", **changes)
        clock.advance(1)
        self.statuses = Counter()

    def dispatch(self):
        """Let rounds run as dispatch does; returns who is queued."""
        numbers = [
            {
                "phone_number_id": number,
                "account_id": "1",
                "portfolio_id": "1",
                "send_rate": 76.0,
                "lanes": LANES,
                "state": "active",
            }
            for number in (NUMBER, OTHER_NUMBER)
        ]
        self.clock.meanwhile = lambda: self.world.database.fetch(
            "UPDATE lane SET claimed_at = %s", (self.clock.now(),)
        )
        self.clock.meanwhile()
        dispatch(numbers=numbers, picks=self.world.picks, topic=Topic(), clock=self.clock)
        return self.queued()

    def queued(self):
        return [
            seq
            for (seq,) in self.world.database.fetch(
                "SELECT seq FROM delivery WHERE state = 'queued' ORDER BY seq"
            )
        ]

    def send(self, outcomes=lambda _: Accepted("wamid"), seqs=None):
        """Claim what is queued and record what it comes to, by seq; None hands it back."""
        results = []
        for claimed in self.claim(seqs or self.queued()):
            outcome = outcomes(claimed.key.seq)
            policy = self.world.claims.policy(self.campaign_id)
            if outcome is None:
                results.append(handed_back(claimed, due_at=self.clock.now()))
                continue
            results.append(result_of(claimed, outcome, policy, now=self.clock.now(), dice=0.5))
        self.world.claims.record(results, now=self.clock.now(), patience_seconds=1)

    def claim(self, seqs):
        rows = []
        for number in (NUMBER, OTHER_NUMBER):
            claims = type(self.world.claims)(
                self.world.database, phone_number_id=number, lane="bulk"
            )
            lease = self.clock.now() + timedelta(seconds=60)
            keys = [Key(self.campaign_id, seq) for seq in seqs]
            rows += claims.claim(keys, now=self.clock.now(), lease=lease).rows
        return rows

    def tell(self, status, seqs):
        """A status of the first attempt of each."""
        now = self.clock.now()
        updates = [
            StatusUpdate(
                self.campaign_id, seq, 1, status,
                now, now if status is Status.DELIVERED else None, None,
                now if status is Status.FAILED else None,
                131026 if status is Status.FAILED else None, f"wamid.{seq}",
            )
            for seq in seqs
        ]  # fmt: skip
        self.world.statuses.apply(updates, retries={}, failures=[], now=now)

    def reconcile(self, stages=None):
        return reconcile(
            reconciliations=self.world.reconciliations,
            statuses=self.world.statuses,
            stages=stages or self.world.stages,
            silences=self.world.silences,
            limits=self.world.limits,
            frequency_cap=None,
            clock=self.clock,
            dice=lambda: 0.5,
            deadline=self.clock.monotonic() + 60,
        )

    @property
    def row(self):
        columns = ("state", "reason", "stage", "released", "stage_left_at")
        rows = self.world.database.fetch(
            f"SELECT {', '.join(columns)} FROM campaign WHERE campaign_id = %s",
            (self.campaign_id,),
        )
        return dict(zip(columns, rows[0], strict=True))

    def attempted(self):
        return self.world.database.fetch("SELECT count(*) FROM delivery WHERE attempt > 0")[0][0]


def stages(*sizes, **changes):
    return [{"recipients" if isinstance(size, int) else "share": size, **changes} for size in sizes]


@pytest.fixture
def ramp(world, clock):
    """100 people, of whom ten go first, then forty, then all."""
    return Campaign(world, clock, stages=stages(10, 40))


def test_a_stage_lets_so_many_go_and_no_more(ramp):
    assert ramp.dispatch() == list(range(1, 11))
    assert ramp.dispatch() == list(range(1, 11))

    assert ramp.row["released"] == 10


def test_a_share_is_of_those_who_were_loaded(world, clock):
    ramp = Campaign(world, clock, recipients=150, stages=stages(0.07))

    assert len(ramp.dispatch()) == 11


def test_a_stage_that_is_full_is_no_demand(ramp):
    ramp.dispatch()

    with ramp.world.picks.round(now=ramp.clock.now()) as current:
        assert current.demands() == []


@pytest.mark.parametrize("fixed", [None, NUMBER])
def test_two_numbers_of_a_pool_release_no_more_together_than_the_stage_allows(world, clock, fixed):
    ramp = Campaign(
        world, clock, recipients=1_000, fixed=fixed, stages=stages(300),
        numbers=[NUMBER, OTHER_NUMBER],
    )  # fmt: skip

    assert len(ramp.dispatch()) == 300
    assert len(ramp.dispatch()) == 300
    assert ramp.row["released"] == 300
    assert world.counters_equal_rows()


def test_people_who_are_fixed_to_two_numbers_share_the_stage(world, clock):
    ramp = Campaign(world, clock, recipients=100, stages=stages(30), numbers=[NUMBER, OTHER_NUMBER])
    world.database.fetch(
        "UPDATE delivery SET number_fixed = true, phone_number_id = (ARRAY[%s, %s])[1 + seq %% 2]",
        (NUMBER, OTHER_NUMBER),
    )

    assert len(ramp.dispatch()) == 30


def test_the_next_stage_begins_when_everybody_has_a_status(ramp):
    ramp.dispatch()
    ramp.send()
    ramp.tell(Status.SENT, range(1, 10))
    assert ramp.reconcile().stages_passed == []

    ramp.tell(Status.DELIVERED, [10])
    done = ramp.reconcile()

    assert done.stages_passed == [ramp.campaign_id]
    assert done.wake
    assert len(ramp.dispatch()) == 30
    assert ramp.row["released"] == 40


def test_the_next_stage_begins_when_the_wait_is_over(ramp):
    ramp.dispatch()
    ramp.send()
    ramp.reconcile()
    ramp.clock.advance(599)
    assert ramp.reconcile().stages_passed == []

    ramp.clock.advance(1)

    assert ramp.reconcile().stages_passed == [ramp.campaign_id]
    assert ramp.row["stage_left_at"] is None


def test_the_wait_begins_when_the_last_of_the_stage_was_tried(ramp):
    ramp.dispatch()
    ramp.send(seqs=range(1, 10))
    ramp.reconcile()
    assert ramp.row["stage_left_at"] is None

    ramp.send(lambda _: None)
    ramp.clock.advance(3_600)
    ramp.reconcile()
    assert ramp.row["stage_left_at"] is None

    ramp.dispatch()
    ramp.send()
    ramp.reconcile()
    assert ramp.row["stage_left_at"] == ramp.clock.now()


def test_after_the_last_stage_everybody_goes(ramp):
    for _ in range(2):
        ramp.dispatch()
        seqs = ramp.queued()
        ramp.send()
        ramp.tell(Status.DELIVERED, seqs)
        ramp.reconcile()

    assert ramp.row["stage"] == 2
    assert len(ramp.dispatch()) == 60


def test_too_many_failures_pause_the_campaign_with_the_figures(ramp):
    ramp.dispatch()
    ramp.send(lambda seq: FAILURE if seq == 1 else Accepted("wamid"))
    ramp.tell(Status.DELIVERED, range(2, 11))

    done = ramp.reconcile()

    assert done.stages_held == [ramp.campaign_id]
    assert ramp.row["state"] == "paused"
    assert ramp.row["reason"] == ("stage 1 of 2: 1 of 10 failed, which is 10.0%; 5.0% is allowed")
    assert ramp.dispatch() == []


def test_failed_statuses_and_unknown_sends_count_as_failures(ramp):
    ramp.dispatch()
    ramp.send(lambda seq: Unknown("timeout") if seq == 1 else Accepted("wamid"))
    ramp.tell(Status.FAILED, [2])
    ramp.tell(Status.DELIVERED, range(3, 11))
    ramp.reconcile()
    ramp.clock.advance(600)

    ramp.reconcile()

    assert "2 of 10 failed" in ramp.row["reason"]


def test_people_who_were_suppressed_since_the_load_do_not_hold_the_stage(ramp):
    ramp.dispatch()
    rows = ramp.world.database.fetch("SELECT match_key FROM recipient WHERE seq <= 5")
    ramp.world.suppressions.suppress(
        [Suppression(key, "all", "asked", "test", NOW) for (key,) in rows]
    )
    ramp.send()
    ramp.tell(Status.DELIVERED, range(6, 11))

    done = ramp.reconcile()

    assert done.stages_held == []
    assert ramp.row["stage"] == 1


def test_a_person_who_resumes_it_lets_the_next_stage_go(ramp):
    ramp.dispatch()
    ramp.send(lambda _: FAILURE)
    ramp.reconcile()

    ramp.world.orders.command_campaign("ramp", state="running", reason=None)
    ramp.reconcile()

    assert len(ramp.dispatch()) == 30
    assert ramp.row["state"] == "running"


def test_retries_let_nobody_else_go(ramp):
    ramp.dispatch()

    for _ in range(3):
        ramp.send(lambda _: RETRY)
        ramp.clock.advance(600)
        assert ramp.dispatch() == list(range(1, 11))

    assert ramp.attempted() == 10
    assert ramp.row["released"] == 10


@pytest.mark.parametrize("outcome", [None, Throttled(130429, "too fast", for_seconds=3), RETRY])
def test_who_comes_back_goes_again_and_nobody_instead(ramp, outcome):
    ramp.dispatch()
    ramp.send(lambda seq: outcome if seq % 2 else Accepted("wamid"))
    ramp.clock.advance(60)

    assert ramp.dispatch() == [1, 3, 5, 7, 9]
    assert ramp.row["released"] == 10


def test_chunks_that_were_lost_let_nobody_else_go(ramp):
    ramp.dispatch()
    ramp.clock.advance(901)
    ramp.reconcile()

    assert ramp.dispatch() == list(range(1, 11))
    assert ramp.row["released"] == 10


def test_a_round_that_dies_has_let_nobody_go(ramp):
    def killed():
        with ramp.world.picks.round(now=ramp.clock.now()) as current:
            (demand,) = current.demands()
            current.pick(NUMBER, "bulk", ramp.campaign_id, rows=10, size=10, gate=demand.gate)
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        killed()

    assert ramp.row["released"] == 0
    assert len(ramp.dispatch()) == 10


def test_two_reconcilers_that_saw_the_same_pass_one_stage(ramp, database_url):
    ramp.dispatch()
    ramp.send()
    ramp.tell(Status.DELIVERED, range(1, 11))
    other = World(connect(database_url))
    (seen,) = other.stages.staged()

    ramp.reconcile()

    assert not other.stages.go_on(seen)
    assert not other.stages.hold(seen, reason="late")
    assert ramp.row["stage"] == 1
    assert ramp.row["state"] == "running"
    other.database.close()


def test_reconciling_again_skips_no_stage(ramp):
    ramp.dispatch()
    ramp.send()
    ramp.tell(Status.DELIVERED, range(1, 11))

    for _ in range(5):
        ramp.reconcile()
        ramp.clock.advance(3_600)

    assert ramp.row["stage"] == 1


def test_a_verdict_whose_answer_was_lost_is_given_once(ramp):
    ramp.dispatch()
    ramp.send(lambda _: FAILURE)

    class Lost(Stages):
        def hold(self, campaign, *, reason):
            super().hold(campaign, reason=reason)
            return super().hold(campaign, reason=reason)

    ramp.reconcile(Lost(ramp.world.database))

    assert ramp.row["stage"] == 1
    assert ramp.row["state"] == "paused"


def test_a_campaign_that_a_person_paused_is_not_judged(ramp):
    ramp.dispatch()
    ramp.send(lambda _: FAILURE)
    ramp.world.orders.command_campaign("ramp", state="paused", reason="wait")

    ramp.reconcile()

    assert ramp.row["stage"] == 0
    assert ramp.row["reason"] == "wait"


def test_a_window_and_stages_go_together(world, clock):
    ramp = Campaign(
        world, clock, recipients=20, zones=[None, "Asia/Tokyo"], stages=stages(15),
        send_window={"opens": "09:00", "closes": "12:00"}, time_zone="Europe/Berlin",
    )  # fmt: skip

    assert ramp.dispatch() == list(range(1, 21, 2))
    assert ramp.row["released"] == 10

    ramp.clock.advance(15 * 3_600)
    ramp.world.claims.release([Key(ramp.campaign_id, 1)], now=clock.now())
    assert len(ramp.dispatch()) == 14
    assert ramp.row["released"] == 15


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_no_more_are_tried_than_the_stages_let_go(world, clock, seed):
    dice = random.Random(seed)
    ramp = Campaign(
        world, clock, recipients=60, max_attempts=3, numbers=[NUMBER, OTHER_NUMBER],
        stages=stages(7, 20, failure_rate_max=1.0, wait_seconds=60),
    )  # fmt: skip
    outcomes = [Accepted("wamid"), FAILURE, RETRY, Unknown("timeout"), None]

    for _ in range(40):
        limit = (7, 20, 60)[ramp.row["stage"]]
        assert ramp.attempted() <= limit
        assert ramp.row["released"] <= limit
        ramp.dispatch()
        ramp.send(lambda _: dice.choice(outcomes))
        told = dice.sample(range(1, 61), 5)
        sent = [seq for seq in told if world.row(ramp.campaign_id, seq)["state"] == "done"]
        ramp.tell(Status.DELIVERED, sent)
        stage = ramp.row["stage"]
        ramp.reconcile()
        assert ramp.row["stage"] - stage in {0, 1}
        clock.advance(dice.choice([5, 60, 901]))

    assert ramp.row["stage"] == 2
    assert ramp.attempted() == 60
    assert world.counters_equal_rows()
    assert clock.now() > NOW

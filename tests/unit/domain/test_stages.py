"""Whether a campaign goes on to its next stage."""

from datetime import timedelta

import pytest

from sluice.domain.delivery import State, Status
from sluice.domain.gate import Gate, GatedCampaign
from sluice.domain.stages import AllLeft, Holds, Passes, Stage, StagedCampaign, Waits
from tests.conftest import NOW

STAGE = Stage(recipients=100, share=None, failure_rate_max=0.05, wait_seconds=600)
LATER = NOW + timedelta(seconds=600)


def verdict(*counts, released=100, left_at=None, untried=False, now=NOW, refused=0):
    """Of 1,000 people those who are not named are pending."""
    rest = 1_000 - sum(number for _, _, number in counts)
    return StagedCampaign(
        campaign_id=1,
        stages=(STAGE, STAGE),
        stage=0,
        released=released,
        left_at=left_at,
        untried=untried,
        counts=[*counts, (State.PENDING, Status.NONE, rest)],
        refused=refused,
    ).verdict(now=now)


def done(status, number):
    return State.DONE, status, number


@pytest.mark.parametrize(
    ("stage", "total", "released_max"),
    [
        (Stage(500, None, 0.05, 600), 10_000, 500),
        (Stage(500, None, 0.05, 600), 40, 40),
        (Stage(None, 0.01, 0.05, 600), 10_000, 100),
        (Stage(None, 0.07, 0.05, 600), 100, 7),
        (Stage(None, 0.01, 0.05, 600), 101, 2),
        (Stage(None, 0.01, 0.05, 600), 0, 0),
    ],
)
def test_a_stage_lets_so_many_go_and_a_part_of_a_person_is_a_whole_one(stage, total, released_max):
    assert stage.released_max(total) == released_max


def test_a_stage_waits_until_all_of_it_were_let_go():
    assert verdict(done(Status.DELIVERED, 99), released=99) == Waits()


def test_a_stage_passes_as_soon_as_everybody_has_a_status_beyond_accepted():
    assert verdict(done(Status.SENT, 50), done(Status.READ, 45), done(Status.FAILED, 5)) == Passes()


@pytest.mark.parametrize("status", [Status.ACCEPTED, Status.HELD])
def test_what_meta_only_took_is_waited_for_from_when_all_of_it_have_left(status):
    counts = [done(Status.DELIVERED, 90), done(status, 10)]

    assert verdict(*counts) == AllLeft()
    assert verdict(*counts, left_at=NOW, now=LATER - timedelta(seconds=1)) == Waits()
    assert verdict(*counts, left_at=NOW, now=LATER) == Passes()


@pytest.mark.parametrize("state", [State.QUEUED, State.SENDING])
def test_the_wait_does_not_begin_while_somebody_is_queued_or_being_sent(state):
    assert verdict(done(Status.ACCEPTED, 99), (state, Status.NONE, 1)) == Waits()


def test_the_wait_does_not_begin_while_somebody_came_back_untried():
    assert verdict(done(Status.ACCEPTED, 90), untried=True) == Waits()


def test_who_waits_for_another_attempt_does_not_hold_the_stage():
    assert verdict(done(Status.ACCEPTED, 90)) == AllLeft()
    assert verdict(done(Status.ACCEPTED, 90), left_at=NOW, now=LATER) == Passes()


@pytest.mark.parametrize(
    "count",
    [
        (State.FAILED, Status.NONE, 6),
        (State.UNKNOWN, Status.NONE, 6),
        (State.DONE, Status.FAILED, 6),
        (State.PENDING, Status.FAILED, 6),
    ],
)
def test_too_many_failures_of_any_kind_hold_the_campaign(count):
    found = verdict(done(Status.SENT, 94), count, left_at=NOW, now=LATER)

    assert isinstance(found, Holds)


def test_the_reason_gives_the_figures():
    found = verdict(done(Status.SENT, 60), done(Status.FAILED, 40))

    assert found == Holds("stage 1 of 2: 40 of 100 failed, which is 40.0%; 5.0% is allowed")


def test_who_was_not_sent_to_is_no_failure_of_the_template():
    failed = (State.FAILED, Status.NONE, 40)

    assert verdict(done(Status.SENT, 60), failed, refused=40) == Passes()


def test_the_part_that_failed_is_of_those_who_were_sent_to():
    counts = [done(Status.SENT, 40), (State.FAILED, Status.NONE, 56), done(Status.FAILED, 4)]

    found = verdict(*counts, refused=56)

    assert found == Holds("stage 1 of 2: 4 of 44 failed, which is 9.1%; 5.0% is allowed")


def test_exactly_what_is_allowed_passes():
    assert verdict(done(Status.SENT, 95), done(Status.FAILED, 5)) == Passes()


def test_what_is_unknown_is_waited_for_like_a_status():
    counts = [done(Status.SENT, 99), (State.UNKNOWN, Status.NONE, 1)]

    assert verdict(*counts) == AllLeft()
    assert verdict(*counts, left_at=NOW, now=LATER) == Passes()


def test_a_campaign_without_anybody_passes():
    empty = StagedCampaign(1, (STAGE,), 0, 0, None, untried=False, counts=[])

    assert empty.verdict(now=NOW) == Passes()


WINDOW = {"opens": "09:00", "closes": "12:00", "days": ["sun"]}


def gate(*, send_window=None, zones=(), stages=(), stage=0, gone=0):
    request = {
        "send_window": send_window,
        "quiet_hours": [],
        "stages": [
            {"recipients": size, "share": None, "failure_rate_max": 0.05, "wait_seconds": 600}
            for size in stages
        ],
    }
    return GatedCampaign(request, zones, stage, 1_000, gone).gate(NOW)


def test_a_campaign_is_open_where_its_window_is():
    assert gate(send_window=WINDOW, zones=["UTC", "Asia/Tokyo"]) == Gate(zones=(0,))
    assert gate(send_window=WINDOW, zones=["Asia/Tokyo"]).is_shut


def test_a_stage_leaves_room_for_who_may_go_less_who_has_gone():
    assert gate(stages=[100], gone=30) == Gate((0,), 100, 70)
    assert gate(stages=[100], gone=100).is_shut
    assert gate(stages=[100, 5_000], stage=1, gone=100) == Gate((0,), 1_000, 900)


def test_after_the_last_stage_everybody_may_go():
    assert gate(stages=[100], stage=1, gone=100) == Gate()

"""What an outcome makes of a claimed delivery."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.claim import Claimed, Key, SendPolicy
from sluice.domain.delivery import State, Status
from sluice.domain.outcomes import (
    Accepted,
    Failed,
    PauseAccount,
    PauseCampaign,
    PauseNumber,
    Retry,
    Throttled,
    Unknown,
)
from sluice.domain.results import handed_back, result_of, settled

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
LEASE = NOW + timedelta(seconds=60)
POLICY = SendPolicy(1, None, 5, timedelta(seconds=900))
RETRY = Retry(131000, "sorry", after_seconds=5.0, base_seconds=8.0, cap_seconds=60.0)


def claimed(attempt=1, message=None):
    return Claimed(Key(1, 7), attempt, LEASE, "+4915100000001", {}, message)


def result(outcome, *, attempt=1, dice=0.5):
    return result_of(claimed(attempt), outcome, POLICY, now=NOW, dice=dice)


@pytest.mark.parametrize(("held", "status"), [(False, Status.ACCEPTED), (True, Status.HELD)])
def test_an_accepted_message_is_done(held, status):
    told = result(Accepted("wamid.A", held))

    assert (told.state, told.status, told.due_at) == (State.DONE, status, None)
    assert (told.wamid, told.burned) == ("wamid.A", True)


def test_an_unknown_message_waits_for_the_campaign_s_window():
    told = result(Unknown("read timeout"))

    assert (told.state, told.due_at) == (State.UNKNOWN, NOW + timedelta(seconds=900))
    assert told.burned


def test_a_failed_message_is_final_and_keeps_meta_s_words():
    told = result(Failed(131026, "no"))

    assert (told.state, told.due_at) == (State.FAILED, None)
    assert (told.code, told.details) == (131026, "no")


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 9.0), (2, 13.0), (3, 21.0), (4, 35.0)])
def test_a_retry_waits_longer_each_time_up_to_the_cap(attempt, seconds):
    told = result(RETRY, attempt=attempt)

    assert told.state is State.PENDING
    assert told.due_at == NOW + timedelta(seconds=seconds)
    assert told.burned


def test_the_last_attempt_of_the_campaign_fails():
    told = result(RETRY, attempt=5)

    assert (told.state, told.due_at, told.code) == (State.FAILED, None, 131000)


@pytest.mark.parametrize(("attempt", "state"), [(1, State.PENDING), (2, State.FAILED)])
def test_a_code_may_allow_fewer_retries_than_the_campaign(attempt, state):
    once = Retry(131000, "sorry", 5.0, 8.0, 60.0, tries_max=1)

    assert result(once, attempt=attempt).state is state


@pytest.mark.parametrize(
    "outcome",
    [
        Throttled(130429, "too fast", 3.0),
        PauseNumber(131048, "spam", 60.0),
        PauseAccount(190, "token"),
        PauseCampaign(132001, "no template"),
    ],
)
def test_waiting_for_the_number_or_the_campaign_burns_nobody_s_attempt(outcome):
    told = result(outcome)

    assert (told.state, told.due_at, told.burned) == (State.PENDING, NOW, False)
    assert (told.code, told.details) == (outcome.code, outcome.details)


def test_a_claim_that_was_not_used_is_handed_back_unburned():
    told = handed_back(claimed(3), due_at=NOW)

    assert (told.state, told.due_at, told.burned) == (State.PENDING, NOW, False)


def test_a_result_proves_by_its_lease_whose_claim_it_ends():
    told = result(Unknown("read timeout"), attempt=4)

    assert (told.key, told.attempt, told.lease) == (Key(1, 7), 4, LEASE)


def test_after_its_last_attempt_a_retry_is_a_failure():
    systemic = Retry(135000, "sorry", 0.0, 8.0, 60.0, tries_max=1, systemic=True)

    assert settled(claimed(1), systemic, POLICY) == systemic
    assert settled(claimed(2), systemic, POLICY) == Failed(135000, "sorry", systemic=True)
    assert settled(claimed(5), RETRY, POLICY) == Failed(131000, "sorry")


@pytest.mark.parametrize(
    ("outcome", "alone"),
    [
        (PauseCampaign(132001, "no template"), Failed(132001, "no template")),
        (Failed(132012, "format", systemic=True), Failed(132012, "format")),
        (PauseAccount(190, "token"), PauseAccount(190, "token")),
        (Accepted("wamid.A"), Accepted("wamid.A")),
    ],
    ids=str,
)
def test_what_would_stop_a_campaign_stops_a_direct_send_alone(outcome, alone):
    assert settled(claimed(message={"template": {}}), outcome, POLICY) == alone


def test_a_direct_send_waits_as_long_as_its_campaign_would():
    pause = PauseCampaign(134101, "syncing", 600.0)

    told = result_of(claimed(message={"template": {}}), pause, POLICY, now=NOW, dice=0.0)

    assert (told.state, told.due_at) == (State.PENDING, NOW + timedelta(seconds=600))
    assert told.burned

"""Every code, held to what Meta documents: the decision that comes of it."""

from datetime import UTC, datetime

import pytest

from sluice.domain.aftermath import Attempt, Failure, retry_at
from sluice.domain.brakes import CircuitBreaker, StopCampaign, StopNumber, stop_of
from sluice.domain.claim import Claimed, Key, SendPolicy
from sluice.domain.clock import FOREVER
from sluice.domain.error_rows import ERRORS
from sluice.domain.errors import classify, classify_answer
from sluice.domain.limits import OUTAGE_ANSWERS_MAX, SYSTEMIC_FAILURES_MAX
from sluice.domain.outcomes import (
    Failed,
    Outcome,
    PauseAccount,
    PauseCampaign,
    PauseNumber,
    Retry,
    Throttled,
)
from sluice.domain.results import settled
from tests.error_codes import BLAMING, CODES, UNKNOWN, Code, Expected, Fails, Pauses, Waits

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
EVERY = [*CODES, *BLAMING, *UNKNOWN]
MOST = 0.999_999
PAUSES = {
    PauseCampaign: "campaign",
    PauseNumber: "number",
    Throttled: "number",
    PauseAccount: "account",
}


def check(outcome: Outcome, expected: Expected, code: Code) -> None:
    """Hold an outcome to what is expected of it, and to its code and words."""
    match expected:
        case Fails(everybody=everybody, recognised=recognised):
            told = Failed(code.code, code.details, recognised=recognised, systemic=everybody)
            assert outcome == told
        case Waits():
            assert isinstance(outcome, Retry)
            assert (outcome.code, outcome.details) == (code.code, code.details)
            assert outcome.tries_max == expected.tries_max
            for attempt, (least, most) in enumerate(expected.seconds):
                assert outcome.delay_seconds(attempt=attempt, dice=0.0) >= least
                assert outcome.delay_seconds(attempt=attempt, dice=MOST) <= most
        case Pauses():
            assert isinstance(outcome, (PauseCampaign, PauseNumber, PauseAccount, Throttled))
            assert (outcome.code, outcome.details) == (code.code, code.details)
            check_pause(outcome, expected)


def check_pause(
    outcome: PauseCampaign | PauseNumber | PauseAccount | Throttled, expected: Pauses
) -> None:
    whole_app = getattr(outcome, "whole_app", False)
    assert ("app" if whole_app else PAUSES[type(outcome)]) == expected.what
    assert getattr(outcome, "longest_seconds", None) == expected.longest
    if expected.seconds is None:
        assert outcome.for_seconds is None
    else:
        assert outcome.for_seconds is not None
        assert expected.seconds[0] <= outcome.for_seconds <= expected.seconds[1]
    stop = stop_of(outcome, now=NOW)
    assert stop is not None
    assert getattr(stop, "slower", False) == expected.slower
    if expected.seconds is None:
        assert stop.until == (None if expected.what == "campaign" else FOREVER)


def test_the_table_and_these_expectations_are_about_the_same_codes() -> None:
    listed = [one.code for one in CODES]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(ERRORS)
    assert not {one.code for one in UNKNOWN} & set(ERRORS)


@pytest.mark.parametrize("code", EVERY, ids=str)
def test_an_answer_with_a_code_comes_to_what_meta_documents(code: Code) -> None:
    check(classify_answer(code.http_status, code.body()), code.answer, code)


@pytest.mark.parametrize("code", EVERY, ids=str)
def test_the_http_status_changes_nothing_where_there_is_a_code(code: Code) -> None:
    outcomes = [
        classify_answer(http_status, code.body())
        for http_status in (200, 400, 401, 403, 404, 429, 500, 502, 503)
    ]
    assert outcomes == [outcomes[0]] * len(outcomes)


@pytest.mark.parametrize("code", EVERY, ids=str)
def test_a_failed_status_with_a_code_comes_to_what_meta_documents(code: Code) -> None:
    check(classify(code.code, code.details, failed=True), code.by_webhook, code)


@pytest.mark.parametrize("code", [one for one in CODES if isinstance(one.answer, Waits)], ids=str)
def test_after_the_last_retry_an_answer_is_a_failure(code: Code) -> None:
    assert isinstance(code.answer, Waits)
    retry = classify_answer(code.http_status, code.body())
    tries = code.answer.tries_max or 4
    policy = SendPolicy(1, None, 5, NOW - NOW)

    outcomes = [settled(_claimed(tried), retry, policy) for tried in range(1, tries + 2)]

    assert outcomes[:-1] == [retry] * tries
    check(outcomes[-1], code.answer.then, code)


@pytest.mark.parametrize(
    "code", [one for one in CODES if isinstance(one.by_webhook, Waits)], ids=str
)
def test_after_the_last_retry_a_failed_status_is_final(code: Code) -> None:
    expected = code.by_webhook
    assert isinstance(expected, Waits)
    for tried, (least, most) in enumerate(expected.seconds, start=1):
        due_at = retry_at(_failure(code, tried), now=NOW, dice=0.5)
        assert due_at is not None
        assert least <= (due_at - NOW).total_seconds() <= most
    if expected.tries_max is not None:
        last = _failure(code, expected.tries_max + 1)
        assert retry_at(last, now=NOW, dice=0.5) is None
        check(last.refusal, expected.then, code)


@pytest.mark.parametrize("code", EVERY, ids=str)
def test_many_in_a_row_stop_the_campaign_where_everybody_would_meet_it(code: Code) -> None:
    breaker, expected = CircuitBreaker(), code.answer
    outcome = classify_answer(code.http_status, code.body())
    count = max(SYSTEMIC_FAILURES_MAX, OUTAGE_ANSWERS_MAX)

    stops = [stop for _ in range(count) if (stop := breaker.heed(1, outcome, now=NOW))]

    wanted: list[type] = []
    if isinstance(expected, Fails) and expected.everybody:
        wanted = [StopCampaign]
    elif isinstance(expected, Waits) and expected.away:
        wanted = [StopNumber]
    assert [type(stop) for stop in stops] == wanted


def _claimed(attempt: int) -> Claimed:
    return Claimed(Key(1, 1), attempt, NOW, "+4915155000001", {}, None)


def _failure(code: Code, attempt: int) -> Failure:
    return Failure(Attempt(1, 1, attempt), "1", code.code, code.details, NOW)

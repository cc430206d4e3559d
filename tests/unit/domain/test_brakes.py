"""What an outcome stops, and when enough is enough."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.brakes import (
    Backoff,
    CircuitBreaker,
    StopAccount,
    StopCampaign,
    StopNumber,
    stop_of,
)
from sluice.domain.clock import FOREVER
from sluice.domain.limits import OUTAGE_ANSWERS_MAX, OUTAGE_SECONDS, SYSTEMIC_FAILURES_MAX
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

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SYSTEMIC = Failed(132012, "format", systemic=True)


@pytest.mark.parametrize(
    ("outcome", "stop"),
    [
        (
            Throttled(130429, "fast", 3.0),
            StopNumber(NOW + timedelta(seconds=3), "130429 fast", slower=True),
        ),
        (Throttled(-1, "no net", 5.0), StopNumber(NOW + timedelta(seconds=5), "-1 no net")),
        (PauseNumber(131048, "spam", 3600.0), StopNumber(NOW + HOUR, "131048 spam")),
        (
            PauseNumber(131048, "spam", 3600.0, 86_400.0),
            StopNumber(NOW + HOUR, "131048 spam", backoff=Backoff(131048, NOW, 86_400.0)),
        ),
        (
            Throttled(429, "fast", 3.0),
            StopNumber(NOW + timedelta(seconds=3), "429 fast", slower=True),
        ),
        (
            PauseAccount(4, "calls", 3600.0, 7200.0, whole_app=True),
            StopAccount(NOW + HOUR, "4 calls", Backoff(4, NOW, 7200.0), whole_app=True),
        ),
        (PauseNumber(33, "deleted"), StopNumber(FOREVER, "33 deleted")),
        (PauseAccount(190, "token"), StopAccount(FOREVER, "190 token")),
        (PauseCampaign(134101, "syncing", 3600.0), StopCampaign(NOW + HOUR, "134101 syncing")),
        (PauseCampaign(132001, "none"), StopCampaign(None, "132001 none")),
        (Accepted("wamid.A"), None),
        (Unknown("timeout"), None),
        (Failed(131026, "no"), None),
        (Retry(131000, "later", 1.0, 1.0, 60.0), None),
    ],
)
def test_an_outcome_stops_what_it_concerns(outcome, stop):
    assert stop_of(outcome, now=NOW) == stop


def test_failures_that_everybody_would_meet_stop_the_campaign_once():
    breaker = CircuitBreaker()

    stops = [breaker.heed(1, SYSTEMIC, now=NOW) for _ in range(SYSTEMIC_FAILURES_MAX + 5)]

    assert stops[: SYSTEMIC_FAILURES_MAX - 1] == [None] * (SYSTEMIC_FAILURES_MAX - 1)
    assert stops[SYSTEMIC_FAILURES_MAX - 1] == StopCampaign(
        None, "10 failures in a row, the last one 132012 format"
    )
    assert stops[SYSTEMIC_FAILURES_MAX:] == [None] * 5


def test_one_acceptance_shows_that_not_everybody_meets_it():
    breaker = CircuitBreaker()
    for _ in range(SYSTEMIC_FAILURES_MAX - 1):
        breaker.heed(1, SYSTEMIC, now=NOW)

    breaker.heed(1, Accepted("wamid.A"), now=NOW)

    assert breaker.heed(1, SYSTEMIC, now=NOW) is None


def test_campaigns_are_counted_apart_and_failures_of_one_recipient_not_at_all():
    breaker = CircuitBreaker()

    for _ in range(SYSTEMIC_FAILURES_MAX - 1):
        breaker.heed(1, SYSTEMIC, now=NOW)
        assert breaker.heed(3, Failed(131026, "not on WhatsApp"), now=NOW) is None

    assert breaker.heed(2, SYSTEMIC, now=NOW) is None
    assert breaker.heed(1, SYSTEMIC, now=NOW) is not None


AWAY = Retry(131016, "unavailable", 0.0, 5.0, 60.0, outage=True)


@pytest.mark.parametrize(
    ("outcome", "told"), [(AWAY, "131016"), (Unknown("HTTP 502"), "HTTP 502")], ids=str
)
def test_answers_that_say_that_meta_is_away_pause_the_number_each_time(outcome, told):
    breaker = CircuitBreaker()

    stops = [breaker.heed(seq, outcome, now=NOW) for seq in range(3 * OUTAGE_ANSWERS_MAX)]

    stop = StopNumber(
        NOW + timedelta(seconds=OUTAGE_SECONDS),
        f"no answer {OUTAGE_ANSWERS_MAX} times in a row, the last one {told}",
    )
    assert stops == ([None] * (OUTAGE_ANSWERS_MAX - 1) + [stop]) * 3


@pytest.mark.parametrize("answer", [Accepted("wamid.A"), Failed(131026, "no")], ids=str)
def test_one_answer_shows_that_meta_is_there(answer):
    breaker = CircuitBreaker()
    for _ in range(OUTAGE_ANSWERS_MAX - 1):
        breaker.heed(1, AWAY, now=NOW)

    breaker.heed(1, answer, now=NOW)

    assert breaker.heed(1, AWAY, now=NOW) is None

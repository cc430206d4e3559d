"""What an outcome stops, and when enough is enough."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.brakes import (
    CircuitBreaker,
    StopAccount,
    StopCampaign,
    StopNumber,
    stop_of,
)
from sluice.domain.clock import FOREVER
from sluice.domain.limits import SYSTEMIC_FAILURES_MAX
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

    stops = [breaker.heed(1, SYSTEMIC) for _ in range(SYSTEMIC_FAILURES_MAX + 5)]

    assert stops[: SYSTEMIC_FAILURES_MAX - 1] == [None] * (SYSTEMIC_FAILURES_MAX - 1)
    assert stops[SYSTEMIC_FAILURES_MAX - 1] == StopCampaign(
        None, "10 failures in a row, the last one 132012 format"
    )
    assert stops[SYSTEMIC_FAILURES_MAX:] == [None] * 5


def test_one_acceptance_shows_that_not_everybody_meets_it():
    breaker = CircuitBreaker()
    for _ in range(SYSTEMIC_FAILURES_MAX - 1):
        breaker.heed(1, SYSTEMIC)

    breaker.heed(1, Accepted("wamid.A"))

    assert breaker.heed(1, SYSTEMIC) is None


def test_campaigns_are_counted_apart_and_failures_of_one_recipient_not_at_all():
    breaker = CircuitBreaker()

    for _ in range(SYSTEMIC_FAILURES_MAX - 1):
        breaker.heed(1, SYSTEMIC)
        assert breaker.heed(3, Failed(131026, "not on WhatsApp")) is None

    assert breaker.heed(2, SYSTEMIC) is None
    assert breaker.heed(1, SYSTEMIC) is not None

"""How fast, and until when."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.clock import FOREVER
from sluice.domain.progress import Course, Forecast, NumberPace, Rate, Sample, forecast, rate_of

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def ago(seconds, done):
    return Sample(NOW - timedelta(seconds=seconds), done)


@pytest.mark.parametrize(
    ("samples", "rate"),
    [
        ([ago(5, 990), ago(65, 350), ago(125, 0)], Rate(10.0, 65.0)),
        ([ago(20, 800), ago(40, 600)], Rate(10.0, 40.0)),
        ([ago(9, 900)], None),
        ([ago(601, 0)], None),
        ([], None),
    ],
    ids=["of_a_minute", "of_less", "too_young", "too_old", "none"],
)
def test_the_rate_is_of_the_last_minute_or_of_what_is_nearest_to_it(samples, rate):
    assert rate_of(samples, now=NOW, done=1_000) == rate


def test_messages_that_meta_gave_up_make_no_negative_rate():
    assert rate_of([ago(60, 1_010)], now=NOW, done=1_000) == Rate(0.0, 60.0)


def number(sends_per_second=40.0, paused_until=None):
    return NumberPace("1", sends_per_second, paused_until)


def course(**changes):
    return Course(
        **{
            "state": "running",
            "reason": None,
            "loaded": True,
            "start_at": None,
            "window_at": None,
            "held": False,
            "staged": False,
            "limited": False,
            "paused_until": None,
            "expires_at": None,
            "remaining": 1_200,
            "numbers": [number()],
        }
        | changes
    )


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def test_what_goes_on_ends_at_its_measured_rate():
    assert forecast(course(), Rate(12.0, 60.0), now=NOW) == Forecast(later(100), "measured")


@pytest.mark.parametrize(
    "changes", [{"state": "finished"}, {"state": "cancelled"}, {"remaining": 0}]
)
def test_what_is_over_ends_no_more(changes):
    assert forecast(course(**changes), None, now=NOW) == Forecast(None, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"start_at": later(600)}, "its start"),
        ({"window_at": later(600)}, "its hours"),
        ({"state": "paused", "reason": "held", "paused_until": later(600)}, "it is paused: held"),
        ({"numbers": [number(paused_until=later(600))]}, "all its numbers are paused"),
    ],
    ids=["start", "hours", "pause", "numbers"],
)
def test_what_waits_ends_at_best_at_the_rate_of_its_numbers_from_then(changes, reason):
    found = forecast(course(**changes), Rate(0.0, 60.0), now=NOW)

    assert found == Forecast(later(600 + 1_200 / 40), "at best", (reason,))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"state": "paused", "reason": "held"}, "it is paused: held"),
        ({"state": "paused", "reason": "x", "paused_until": FOREVER}, "it is paused: x"),
        ({"numbers": [number(paused_until=FOREVER)]}, "all its numbers are paused"),
        ({"loaded": False}, "its audience is loading"),
        ({"held": True}, "its approval"),
        ({"staged": True}, "its stages"),
        ({"limited": True}, "the daily limit of its portfolio"),
        ({"numbers": []}, "none of its numbers is configured"),
    ],
)
def test_nobody_can_tell_the_end_of_what_a_person_must_resume(changes, reason):
    assert forecast(course(**changes), Rate(5.0, 60.0), now=NOW) == Forecast(None, None, (reason,))


def test_a_pool_that_is_paused_in_part_goes_on_at_its_measured_rate():
    pool = [number(), number(paused_until=FOREVER)]

    assert forecast(course(numbers=pool), Rate(12.0, 60.0), now=NOW).basis == "measured"


def test_before_the_first_sample_the_rate_of_the_numbers_is_taken():
    assert forecast(course(), None, now=NOW) == Forecast(later(30), "at best")


def test_without_any_progress_no_end_is_made_up():
    found = forecast(course(), Rate(0.0, 60.0), now=NOW)

    assert found == Forecast(None, None, ("nothing leaves at present",))


def test_what_expires_before_its_end_ends_then():
    found = forecast(course(expires_at=later(50)), Rate(12.0, 60.0), now=NOW)

    assert found == Forecast(later(50), "measured", ("it expires before its end",))


def test_an_end_in_thousands_of_years_is_the_last_one_that_can_be_written():
    found = forecast(course(remaining=10**9), Rate(1e-6, 60.0), now=NOW)

    assert found.ends_at == FOREVER

"""When people may be written to, over nights, weekends and changes of the clock."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.windows import DAYS, OPEN, Hours, week_of, zone_names

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
WORKDAYS = DAYS[:5]


def window(opens="09:00", closes="20:00", days=DAYS):
    return {"opens": opens, "closes": closes, "days": days}


def hours(send_window=None, quiet=(), zones=(BERLIN,)):
    quiet_hours = [{"from": begin, "to": end} for begin, end in quiet]
    found = Hours.of(send_window, quiet_hours, zones)
    assert found is not None
    return found


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_who_says_nothing_about_time_has_no_hours():
    assert Hours.of(None, [], []) is None
    assert Hours.of(None, None, []) is None


@pytest.mark.parametrize(
    ("at", "is_open"),
    [("07:59", False), ("08:00", True), ("18:59:59", True), ("19:00", False)],
)
def test_a_window_counts_by_the_clock_of_the_zone(at, is_open):
    assert hours(window()).is_open(0, utc(f"2026-03-02 {at}")) is is_open


def test_a_day_that_is_not_named_is_closed():
    found = hours(window(days=WORKDAYS))

    assert found.is_open(0, utc("2026-03-06 12:00"))
    assert not found.is_open(0, utc("2026-03-07 12:00"))
    assert found.opens_at(0, utc("2026-03-06 20:00")) == utc("2026-03-09 08:00")


def test_a_window_over_midnight_belongs_to_the_day_on_which_it_opens():
    found = hours(window("22:00", "02:00", days=("sun",)), zones=("UTC",))

    assert [found.is_open(0, utc(at)) for at in ("2026-03-01 23:00", "2026-03-02 01:59")] == [
        True,
        True,
    ]
    assert not found.is_open(0, utc("2026-03-01 01:00"))
    assert not found.is_open(0, utc("2026-03-02 02:00"))


def test_quiet_hours_cut_the_window_and_may_cross_midnight():
    found = hours(window("08:00", "24:00"), [("12:00", "14:00"), ("22:30", "09:00")], ("UTC",))

    def is_open(at):
        return found.is_open(0, utc(f"2026-03-02 {at}"))

    assert [is_open(at) for at in ("08:30", "09:00", "12:30", "14:00", "22:29", "22:30")] == [
        False,
        True,
        False,
        True,
        True,
        False,
    ]


def test_quiet_hours_alone_leave_the_rest_of_every_day():
    found = hours(None, [("22:00", "06:00")], ("UTC",))

    assert found.is_open(0, utc("2026-03-01 12:00"))
    assert found.opens_at(0, utc("2026-03-01 23:00")) == utc("2026-03-02 06:00")


def test_each_zone_opens_by_its_own_clock():
    found = hours(window(), zones=(BERLIN, NEW_YORK, "Asia/Kolkata"))

    assert found.open_zones(utc("2026-03-02 10:00")) == (0, 2)
    assert found.open_zones(utc("2026-03-02 18:00")) == (0, 1)
    assert found.open_zones(utc("2026-03-02 02:00")) == ()
    assert found.next_opening(utc("2026-03-02 02:00")) == utc("2026-03-02 03:30")


def test_an_open_window_opens_now():
    now = utc("2026-03-02 12:34:56.789")

    assert hours(window()).opens_at(0, now) == now


def test_in_spring_a_window_opens_an_hour_earlier_in_utc():
    found = hours(window())

    assert found.opens_at(0, utc("2026-03-28 20:00")) == utc("2026-03-29 07:00")
    assert found.opens_at(0, utc("2026-10-24 20:00")) == utc("2026-10-25 08:00")


def test_a_window_that_opens_in_the_skipped_hour_opens_when_the_clock_jumps():
    found = hours(window("02:30", "05:00"))

    assert found.opens_at(0, utc("2026-03-28 23:00:00.5")) == utc("2026-03-29 01:00")
    assert not found.is_open(0, utc("2026-03-29 00:59:59"))
    assert found.is_open(0, utc("2026-03-29 02:59"))


def test_a_window_within_the_skipped_hour_does_not_open_that_day():
    found = hours(window("02:15", "02:45"))

    assert found.opens_at(0, utc("2026-03-28 23:00")) == utc("2026-03-30 00:15")


def test_a_window_in_the_repeated_hour_opens_twice():
    found = hours(window("02:15", "02:45"))

    assert found.opens_at(0, utc("2026-10-24 23:00")) == utc("2026-10-25 00:15")
    assert found.opens_at(0, utc("2026-10-25 00:45")) == utc("2026-10-25 01:15")
    assert found.opens_at(0, utc("2026-10-25 01:45")) == utc("2026-10-26 01:15")


def test_the_minutes_of_a_week_are_painted_once_for_all_zones():
    week = week_of(window("00:00", "24:00", days=("mon",)), [])

    assert week.count(OPEN) == 24 * 60
    assert week.find(OPEN) == 0


def test_the_known_zones_are_those_of_iana():
    assert {BERLIN, NEW_YORK, "UTC", "Africa/Nairobi"} <= zone_names()
    assert not {"Europe", "Berlin", "europe/berlin", "../etc/passwd", ""} & zone_names()


def test_every_known_zone_can_be_asked():
    zones = tuple(sorted(zone_names()))
    found = hours(window(), zones=zones)

    now = utc("2026-03-01 00:00")
    assert 0 < len(found.open_zones(now)) < len(zones)
    assert now <= found.next_opening(now) < now + timedelta(days=1)

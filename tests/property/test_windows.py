"""Windows and their openings, for any hours, zone and moment: also where the clock is changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.domain.windows import DAYS, OPEN, Hours, week_of

ZONES = st.sampled_from([
    "UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe",
    "Asia/Kathmandu", "Africa/Casablanca", "America/Sao_Paulo", "Pacific/Apia",
])  # fmt: skip
CLOCK = st.integers(0, 24 * 60 - 1)
SPANS = st.tuples(CLOCK, CLOCK).filter(lambda span: span[0] != span[1])
MOMENTS = st.one_of(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),  # noqa: DTZ001 - made aware below
    # Around the changes of Europe and America.
    st.builds(
        lambda day, seconds: day + timedelta(seconds=seconds),
        st.sampled_from([
            datetime(2026, 3, 28),  # noqa: DTZ001
            datetime(2026, 10, 24),  # noqa: DTZ001
            datetime(2026, 3, 7),  # noqa: DTZ001
            datetime(2026, 10, 31),  # noqa: DTZ001
        ]),
        st.floats(0, 3 * 86_400),
    ),
).map(lambda moment: moment.replace(tzinfo=UTC))  # fmt: skip


def text(minute):
    return f"{minute // 60:02}:{minute % 60:02}"


@st.composite
def hours(draw):
    opens, closes = draw(SPANS)
    window = {
        "opens": text(opens),
        "closes": text(closes),
        "days": sorted(draw(st.sets(st.sampled_from(DAYS), min_size=1))),
    }
    quiet = [
        {"from": text(begin), "to": text(end)} for begin, end in draw(st.lists(SPANS, max_size=3))
    ]
    assume(OPEN in week_of(window, quiet))
    return window, quiet


def within(minute, begin, end):
    """Whether a span of the clock holds the minute: (of the same day, of the day before)."""
    if begin < end:
        return begin <= minute < end, False
    return minute >= begin, minute < end


def minute_of(clock):
    return int(clock[:2]) * 60 + int(clock[3:])


def expected(window, quiet, local):
    """The definition, said differently: by today's and yesterday's spans."""
    minute, today = local.hour * 60 + local.minute, local.weekday()
    same, before = within(minute, minute_of(window["opens"]), minute_of(window["closes"]))
    opened = (same and DAYS[today] in window["days"]) or (
        before and DAYS[today - 1] in window["days"]
    )
    silent = any(
        any(within(minute, minute_of(span["from"]), minute_of(span["to"]))) for span in quiet
    )
    return opened and not silent


@given(hours(), ZONES, MOMENTS)
def test_a_window_is_open_as_the_clock_on_the_wall_says(said, zone, now):
    found = Hours.of(*said, [zone])

    assert found.is_open(0, now) == expected(*said, now.astimezone(ZoneInfo(zone)))


@given(hours(), ZONES, MOMENTS)
def test_it_opens_at_the_first_moment_at_which_it_is_open(said, zone, now):
    found = Hours.of(*said, [zone])

    opens_at = found.opens_at(0, now)

    assert opens_at >= now
    assert found.is_open(0, opens_at)
    assert opens_at - now < timedelta(days=15)
    if opens_at > now:
        assert not found.is_open(0, opens_at - timedelta(microseconds=1))


@given(hours(), ZONES, MOMENTS, st.floats(0, 1))
def test_it_is_closed_from_now_until_it_opens(said, zone, now, part):
    found = Hours.of(*said, [zone])
    opens_at = found.opens_at(0, now)
    assume(opens_at > now)

    between = now + (opens_at - now) * part

    assert between >= opens_at or not found.is_open(0, between)


@given(hours(), st.lists(ZONES, min_size=1, max_size=4), MOMENTS)
def test_the_next_opening_is_now_exactly_while_a_zone_is_open(said, zones, now):
    found = Hours.of(*said, zones)

    assert (found.next_opening(now) == now) == bool(found.open_zones(now))

"""No one-second window ever holds more sends than the rate, whatever stalls a slot."""

from bisect import bisect_left
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.domain.pace import Pace, one_second_sends_max

RATES = st.one_of(st.integers(1, 250), st.sampled_from([0.25, 1.9, 15.2, 30.4, 47.5, 62.5, 99.9]))
ENTRIES = st.floats(0, 2**23 - 10_000, allow_nan=False)
STALLS = st.lists(
    st.one_of(st.just(0.0), st.floats(0, 0.05), st.floats(0, 3)), min_size=2, max_size=300
)


def starts_of_a_slot(rate: float, entry: float, stalls: list[float]) -> list[Fraction]:
    """When a slot sends, as exact numbers, if each send starts a stall after the last was done."""
    pace, last, starts = Pace.of_rate(rate), entry, []
    for stall in stalls:
        last = pace.due(last, last + stall)
        starts.append(Fraction(last))
    return starts


def most_in_a_second(starts: list[Fraction]) -> int:
    """The most of the sorted starts that lie in one half-open window [t, t + 1)."""
    return max(bisect_left(starts, start + 1) - index for index, start in enumerate(starts))


@given(RATES, ENTRIES, STALLS)
def test_a_second_of_a_slot_holds_at_most_the_rate(
    rate: float, entry: float, stalls: list[float]
) -> None:
    assert most_in_a_second(starts_of_a_slot(rate, entry, stalls)) <= one_second_sends_max(rate)


@given(RATES, ENTRIES, STALLS)
def test_the_first_send_waits_a_gap_after_the_entry(
    rate: float, entry: float, stalls: list[float]
) -> None:
    first = starts_of_a_slot(rate, entry, stalls)[0]
    assert (first - Fraction(entry)) * Fraction(rate) >= 1


@settings(deadline=None)
@given(RATES, st.lists(st.tuples(ENTRIES, STALLS), min_size=2, max_size=8))
def test_a_second_of_many_slots_holds_at_most_the_sum_of_their_rates(
    rate: float, slots: list[tuple[float, list[float]]]
) -> None:
    offset = slots[0][0]
    starts = sorted(
        start
        for entry, stalls in slots
        for start in starts_of_a_slot(rate, offset + entry % 1, stalls)
    )
    assert most_in_a_second(starts) <= len(slots) * one_second_sends_max(rate)


@given(RATES)
def test_without_stalls_a_slot_uses_its_whole_rate(rate: float) -> None:
    starts = starts_of_a_slot(rate, 0.0, [0.0] * 1_000)
    assert len(starts) / float(starts[-1]) > 0.9999 * rate

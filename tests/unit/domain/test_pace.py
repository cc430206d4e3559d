"""The leading gap of a slot."""

import pytest

from sluice.domain.pace import Pace, one_second_sends_max


def test_the_next_send_waits_a_gap_after_the_last() -> None:
    assert Pace(0.5).due(10.0, 10.1) == 10.5


def test_after_a_stall_the_next_send_starts_now_and_nothing_is_caught_up() -> None:
    pace = Pace(0.5)
    first = pace.due(10.0, 60.0)
    assert first == 60.0
    assert pace.due(first, 60.0) == 60.5


@pytest.mark.parametrize(("rate", "gap"), [(38.0, 1 / 38), (100.0, 0.01), (0.5, 2.0)])
def test_the_gap_of_a_rate_is_its_inverse_and_a_few_nanoseconds(rate: float, gap: float) -> None:
    assert gap < Pace.of_rate(rate).gap_seconds < gap + 3e-9


def test_a_slot_without_a_rate_has_no_pace() -> None:
    with pytest.raises(AssertionError, match="never sends"):
        Pace.of_rate(0)


@pytest.mark.parametrize(("rate", "most"), [(38.0, 38), (62.5, 63), (0.2, 1)])
def test_a_window_of_one_second_holds_the_rate_rounded_up(rate: float, most: int) -> None:
    assert one_second_sends_max(rate) == most

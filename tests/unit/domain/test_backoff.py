"""Waits between attempts."""

import pytest

from sluice.domain.backoff import PAIR_SECONDS_MAX, full_jitter_seconds, pair_seconds


def test_the_wait_is_a_share_of_the_doubling_base() -> None:
    assert full_jitter_seconds(attempt=3, base_seconds=2, cap_seconds=600, dice=0.5) == 8


def test_the_wait_is_a_share_of_the_cap_once_the_base_has_outgrown_it() -> None:
    assert full_jitter_seconds(attempt=30, base_seconds=2, cap_seconds=600, dice=0.5) == 300


def test_an_absurd_attempt_overflows_nothing() -> None:
    assert full_jitter_seconds(attempt=10**9, base_seconds=2, cap_seconds=60, dice=0.5) == 30


@pytest.mark.parametrize(("attempt", "seconds"), [(0, 1), (1, 4), (2, 16), (3, 64), (4, 256)])
def test_a_pair_waits_as_long_as_meta_says(attempt: int, seconds: float) -> None:
    assert pair_seconds(attempt) == seconds


def test_the_wait_of_a_pair_is_capped() -> None:
    assert pair_seconds(10**9) == PAIR_SECONDS_MAX

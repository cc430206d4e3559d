"""Full jitter stays inside its bounds."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.backoff import full_jitter_seconds, pair_seconds

ATTEMPTS = st.integers(-10, 10**6)
SECONDS = st.floats(0, 1e6)
DICE = st.floats(0, 1, exclude_max=True)


@given(ATTEMPTS, SECONDS, SECONDS, DICE)
def test_a_wait_is_between_nothing_and_the_cap(
    attempt: int, base: float, cap: float, dice: float
) -> None:
    wait = full_jitter_seconds(attempt=attempt, base_seconds=base, cap_seconds=cap, dice=dice)
    assert 0 <= wait <= cap


@given(ATTEMPTS, SECONDS, SECONDS, DICE)
def test_a_later_attempt_never_waits_less_for_the_same_dice(
    attempt: int, base: float, cap: float, dice: float
) -> None:
    now, later = (
        full_jitter_seconds(attempt=which, base_seconds=base, cap_seconds=cap, dice=dice)
        for which in (attempt, attempt + 1)
    )
    assert now <= later


@given(ATTEMPTS)
def test_a_pair_never_waits_less_than_before(attempt: int) -> None:
    assert pair_seconds(attempt) <= pair_seconds(attempt + 1)

"""A burst is not delayed, what follows it is spaced, and the memory is bounded."""

import pytest

from sluice.domain.limits import PAIR_BURST_MESSAGES, PAIR_SECONDS, PAIRS_MAX
from sluice.domain.pairs import Pairs

NOW = 1_796_126_400.0


def after(messages, *, now=NOW):
    pairs = Pairs()
    for _ in range(messages):
        pairs.took("person", now=now)
    return pairs


def test_a_burst_is_not_delayed():
    assert after(PAIR_BURST_MESSAGES - 1).wait_seconds("person", now=NOW) == 0.0


def test_after_a_burst_a_message_waits_until_one_more_is_lent():
    pairs = after(PAIR_BURST_MESSAGES)

    assert pairs.wait_seconds("person", now=NOW) == PAIR_SECONDS
    assert pairs.wait_seconds("person", now=NOW + 4) == pytest.approx(PAIR_SECONDS - 4)
    assert pairs.wait_seconds("person", now=NOW + PAIR_SECONDS) == 0.0


def test_a_burst_is_paid_back_with_time():
    pairs = after(PAIR_BURST_MESSAGES)
    later = NOW + PAIR_BURST_MESSAGES * PAIR_SECONDS

    for _ in range(PAIR_BURST_MESSAGES):
        assert pairs.wait_seconds("person", now=later) == 0.0
        pairs.took("person", now=later)


def test_a_full_memory_forgets_whom_it_owes_nothing():
    pairs = after(PAIR_BURST_MESSAGES)
    for place in range(2 * PAIRS_MAX):
        pairs.took(f"another {place}", now=NOW + place / 1_000)

    assert len(pairs._full_at) <= PAIRS_MAX


def test_a_memory_full_of_debts_keeps_the_latest():
    pairs = Pairs()
    for place in range(PAIRS_MAX + 1):
        for _ in range(PAIR_BURST_MESSAGES):
            pairs.took(f"person {place}", now=NOW)

    assert pairs.wait_seconds(f"person {PAIRS_MAX}", now=NOW) > 0
    assert pairs.wait_seconds("person 0", now=NOW) == 0.0

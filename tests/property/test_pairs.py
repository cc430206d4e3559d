"""Whatever a person is sent, no window holds more than the burst and what 6 s a message give."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.limits import PAIR_BURST_MESSAGES, PAIR_SECONDS
from sluice.domain.pairs import Pairs

GAPS = st.lists(st.floats(0, 30), max_size=60)


def sent(gaps):
    """When messages leave that are wanted after these gaps, each as early as it may."""
    pairs, times = Pairs(), []
    for wanted_at in accumulate(gaps):
        now = max([wanted_at, *times[-1:]])
        now += pairs.wait_seconds("person", now=now)
        pairs.took("person", now=now)
        times.append(now)
    return times


@given(GAPS)
def test_no_window_holds_more_than_a_burst_and_a_message_each_six_seconds(gaps):
    times = sent(gaps)

    for first, began in enumerate(times):
        for last in range(first, len(times)):
            spacings = (last - first + 1 - PAIR_BURST_MESSAGES) * PAIR_SECONDS
            assert times[last] - began >= spacings - 1e-6


@given(st.lists(st.floats(PAIR_SECONDS, 30), max_size=60))
def test_who_gets_a_message_each_six_seconds_or_later_never_waits(gaps):
    assert sent(gaps) == list(accumulate(gaps))


@given(GAPS, GAPS)
def test_nobody_waits_for_another(mine, others):
    pairs = Pairs()
    for at in accumulate(others):
        pairs.took("other", now=at)

    assert pairs.wait_seconds("person", now=sum(mine)) == 0.0

"""How numbers and campaigns share what is pending."""

import pytest

from sluice.domain.limits import CHUNK_DELIVERIES_MAX, DISPATCH_BACKLOG_SECONDS
from sluice.domain.topup import Demand, NumberBacklog, plan

FAST, SLOW = "1", "2"


def backlog(number=FAST, rate=80.0, queued=0):
    return NumberBacklog(number, "bulk", rate, queued)


def demand(campaign_id, *, number=FAST, deferrable=False, own=0, free=0):
    return Demand(number, "bulk", campaign_id, deferrable, own, free)


def test_a_number_lacks_two_minutes_of_work():
    assert backlog(rate=80.0).lack == 80 * DISPATCH_BACKLOG_SECONDS
    assert backlog(rate=80.0, queued=9_000).lack == 600
    assert backlog(rate=80.0, queued=10_000).lack == 0


def test_a_slow_number_lacks_a_chunk():
    assert backlog(rate=0.1).lack == CHUNK_DELIVERIES_MAX


def test_nothing_pending_plans_nothing():
    assert plan([backlog()], []) == {}
    assert plan([backlog()], [demand(1)]) == {}


def test_what_is_pending_is_planned_up_to_what_is_lacking():
    assert plan([backlog()], [demand(1, free=30)]) == {(FAST, 1): 30}
    assert plan([backlog(queued=9_500)], [demand(1, own=500)]) == {(FAST, 1): 100}


def test_a_large_campaign_does_not_starve_a_small_one():
    planned = plan([backlog()], [demand(1, free=1_000_000), demand(2, free=500)])

    assert planned[FAST, 2] == 500
    assert planned[FAST, 1] == 80 * DISPATCH_BACKLOG_SECONDS - 500


def test_equal_campaigns_take_turns():
    planned = plan([backlog()], [demand(1, free=100_000), demand(2, free=100_000)])

    assert abs(planned[FAST, 1] - planned[FAST, 2]) <= CHUNK_DELIVERIES_MAX


def test_a_deferrable_campaign_takes_what_normal_ones_leave():
    demands = [demand(1, deferrable=True, free=100_000), demand(2, free=9_000)]

    assert plan([backlog()], demands) == {(FAST, 2): 9_000, (FAST, 1): 600}


def test_a_pool_shares_by_rate_so_that_it_ends_together():
    demands = [demand(1, number=number, free=5_000) for number in (FAST, SLOW)]

    planned = plan([backlog(FAST, 80.0), backlog(SLOW, 20.0)], demands)

    assert sum(planned.values()) == 5_000
    assert planned[FAST, 1] == pytest.approx(4_000, abs=2 * CHUNK_DELIVERIES_MAX)


def test_what_only_one_number_may_send_is_planned_for_it_alone():
    demands = [demand(1, number=FAST, free=100), demand(1, number=SLOW, own=50, free=100)]

    planned = plan([backlog(FAST), backlog(SLOW, 20.0)], demands)

    assert sum(planned.values()) == 150
    assert planned[SLOW, 1] >= 50


def test_a_number_that_may_not_send_takes_nothing():
    demands = [demand(1, number=number, free=100) for number in (FAST, SLOW)]

    assert plan([backlog(SLOW)], demands) == {(SLOW, 1): 100}


@pytest.mark.parametrize(
    ("rows", "size"), [(1, 5), (80, 5), (81, 6), (800, 50), (1_600, 100), (90_000, 100)]
)
def test_a_chunk_is_as_large_as_leaves_every_slot_its_part(rows, size):
    assert NumberBacklog("1", "bulk", 76.0, 0, messages_at_once=16).chunk_size(rows) == size

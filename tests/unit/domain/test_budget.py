"""What is left of a daily limit, and how numbers share it."""

import pytest

from sluice.domain.budget import UNLIMITED, Allowance, Budgets, limit_of
from sluice.domain.topup import Demand, NumberBacklog, plan

ONE, TWO, OTHER = "1", "2", "3"


def allowance(limit=250, contacted=0, queued=0, numbers=(ONE, TWO)):
    return Allowance("portfolio", limit, contacted, queued, numbers)


def demand(campaign_id, number, *, free=1_000, deferrable=False):
    return Demand(number, "bulk", campaign_id, deferrable, 0, free)


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ("TIER_50", 50),
        ("TIER_250", 250),
        ("TIER_2K", 2_000),
        ("tier_100k", 100_000),
        ("TIER_1M", 1_000_000),
        (2_000, 2_000),
        ("2000", 2_000),
        (-1, UNLIMITED),
        ("-1", UNLIMITED),
        ("TIER_UNLIMITED", UNLIMITED),
    ],
)
def test_a_limit_is_read_as_a_tier_and_as_a_number(told, limit):
    assert limit_of(told) == limit


@pytest.mark.parametrize(
    "told", [None, True, 0, -2, 2.5, "", "TIER_", "TIER_NOT_SET", "2 K", 10**12, "9" * 99, {}, []]
)
def test_what_is_no_limit_says_none(told):
    assert limit_of(told) is None


def test_people_and_queued_deliveries_use_the_limit_up():
    assert allowance(250, contacted=100, queued=30).left == 120
    assert allowance(250, contacted=240, queued=30).left == 0


def test_what_is_queued_meanwhile_is_used_up_too():
    assert allowance(250).after({ONE: 100, OTHER: 70}).left == 150


def test_a_plan_takes_no_more_than_the_portfolio_has_left():
    backlogs = [NumberBacklog(number, "bulk", 80.0, 0) for number in (ONE, TWO)]
    demands = [demand(1, ONE, free=5_000), demand(2, TWO, free=5_000)]

    planned = plan(backlogs, demands, allowances=[allowance(250)])

    assert sum(planned.values()) == 250
    assert abs(planned[ONE, 1] - planned[TWO, 2]) <= 1


def test_a_number_of_another_portfolio_is_not_held_back():
    backlogs = [NumberBacklog(number, "bulk", 80.0, 0) for number in (ONE, OTHER)]
    demands = [demand(1, ONE), demand(1, OTHER)]

    planned = plan(backlogs, demands, allowances=[allowance(0)])

    assert planned == {(OTHER, 1): 1_000}


def test_what_one_number_cannot_use_the_other_takes():
    backlogs = [NumberBacklog(number, "bulk", 80.0, 0) for number in (ONE, TWO)]
    demands = [demand(1, ONE, free=10), demand(2, TWO, free=5_000)]

    planned = plan(backlogs, demands, allowances=[allowance(250)])

    assert planned == {(ONE, 1): 10, (TWO, 2): 240}


def test_normal_campaigns_use_the_limit_before_deferrable_ones():
    demands = [demand(1, ONE, deferrable=True), demand(2, ONE, free=200)]

    planned = plan([NumberBacklog(ONE, "bulk", 80.0, 0)], demands, allowances=[allowance(250)])

    assert planned == {(ONE, 2): 200, (ONE, 1): 50}


def test_of_a_limit_that_comes_back_row_by_row_every_number_and_campaign_gets_a_part():
    backlogs = [NumberBacklog(number, "bulk", 80.0, 0) for number in (ONE, TWO)]
    demands = [demand(1, ONE), demand(2, ONE), demand(3, TWO)]

    taken = {
        pick
        for first in range(4)
        for pick in plan(backlogs, demands, allowances=[allowance(1)], first=first)
    }

    assert taken == {(ONE, 1), (ONE, 2), (TWO, 3)}


def test_a_part_of_what_is_left_is_rounded_up():
    budgets = Budgets([allowance(3)], waiting={ONE, TWO})

    assert budgets.grant(ONE, 100) == 2
    budgets.take(ONE, 2)
    assert budgets.grant(TWO, 100) == 1

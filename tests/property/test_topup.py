"""No number gets more than it lacks, no campaign gives more than it has, and nobody idles."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.domain.budget import Allowance
from sluice.domain.topup import Demand, NumberBacklog, plan

NUMBERS = ("a", "b", "c")
BACKLOGS = st.lists(
    st.builds(
        NumberBacklog,
        st.sampled_from(NUMBERS),
        st.just("bulk"),
        st.sampled_from([0.5, 8.0, 20.0, 76.0]),
        st.integers(0, 10_000),
    ),
    unique_by=lambda backlog: backlog.phone_number_id,
    max_size=3,
)


@st.composite
def demands(draw):
    """Demands as the database gives them: each number of a campaign sees the same free rows."""
    every = []
    for campaign_id in range(1, draw(st.integers(0, 4)) + 1):
        deferrable, free = draw(st.booleans()), draw(st.integers(0, 20_000))
        for number in draw(st.sets(st.sampled_from(NUMBERS), min_size=1)):
            own = draw(st.integers(0, 5_000))
            if own + free:
                every.append(Demand(number, "bulk", campaign_id, deferrable, own, free))
    return sorted(every, key=lambda demand: (demand.phone_number_id, demand.campaign_id))


def by(planned, place):
    total = Counter()
    for pick, rows in planned.items():
        total[pick[place]] += rows
    return total


@settings(max_examples=200, deadline=None)
@given(BACKLOGS, demands())
def test_no_number_is_given_more_than_it_lacks_nor_what_is_not_there(backlogs, demands):
    planned = plan(backlogs, demands)

    lacks = {backlog.phone_number_id: backlog.lack for backlog in backlogs}
    for number, rows in by(planned, 0).items():
        assert rows <= lacks[number]
    for campaign_id in by(planned, 1):
        of_campaign = [one for one in demands if one.campaign_id == campaign_id]
        beyond_own = sum(
            max(0, planned.get((one.phone_number_id, campaign_id), 0) - one.own)
            for one in of_campaign
        )
        assert beyond_own <= of_campaign[0].free
    assert all(rows > 0 for rows in planned.values())


@settings(max_examples=200, deadline=None)
@given(BACKLOGS, demands())
def test_a_number_that_still_lacks_work_has_left_none_that_it_may_send(backlogs, demands):
    planned = plan(backlogs, demands)

    given_to = by(planned, 0)
    for backlog in backlogs:
        if given_to[backlog.phone_number_id] == backlog.lack:
            continue
        for one in demands:
            if one.phone_number_id != backlog.phone_number_id:
                continue
            taken = planned.get((one.phone_number_id, one.campaign_id), 0)
            assert taken >= one.own
            assert by(planned, 1)[one.campaign_id] >= one.free


@settings(max_examples=200, deadline=None)
@given(BACKLOGS, demands())
def test_deferrable_campaigns_change_nothing_for_normal_ones(backlogs, demands):
    planned = plan(backlogs, demands)
    alone = plan(backlogs, [one for one in demands if not one.deferrable])

    deferrable = {one.campaign_id for one in demands if one.deferrable}
    assert {pick: rows for pick, rows in planned.items() if pick[1] not in deferrable} == alone


ALLOWANCES = st.lists(
    st.builds(
        Allowance,
        st.just("portfolio"),
        st.integers(0, 3_000),
        st.integers(0, 500),
        st.integers(0, 500),
        st.sets(st.sampled_from(NUMBERS), min_size=1).map(tuple),
    ),
    max_size=1,
)


@settings(max_examples=200, deadline=None)
@given(BACKLOGS, demands(), ALLOWANCES, st.integers(0, 10))
def test_a_portfolio_never_takes_more_than_it_has_left(backlogs, demands, allowances, first):
    planned = plan(backlogs, demands, allowances=allowances, first=first)

    taken = by(planned, 0)
    for allowance in allowances:
        assert sum(taken[number] for number in allowance.phone_number_ids) <= allowance.left


@settings(max_examples=200, deadline=None)
@given(BACKLOGS, demands(), ALLOWANCES)
def test_a_portfolio_leaves_nothing_unused_that_its_numbers_could_send(
    backlogs, demands, allowances
):
    planned = plan(backlogs, demands, allowances=allowances)
    unlimited = plan(backlogs, demands)

    for allowance in allowances:
        numbers = allowance.phone_number_ids
        taken, wanted = by(planned, 0), by(unlimited, 0)
        if set(numbers) == set(NUMBERS):
            assert sum(taken.values()) == min(allowance.left, sum(wanted.values()))

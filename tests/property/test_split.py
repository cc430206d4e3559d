"""Sides of a split: shares as they were asked for, and the same for a person for ever."""

from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.domain.split import HELD_OUT, NO_VARIANT, Sides, place_of
from sluice.domain.suppressions import match_key

PEOPLE = 100_000
DEVIATIONS_MAX = 5.0
"""One count in two million strays further by chance."""

KEYS = st.text(min_size=1, max_size=20)
ADDRESSES = st.integers(1_000_000, 999_999_999_999).map(lambda number: f"+{number}")
TENTHS = st.lists(st.integers(1, 10), max_size=10).filter(lambda parts: sum(parts) <= 10)
SPLITS = st.builds(
    lambda key, holdout, parts: Sides.of(
        key, holdout=holdout / 10, shares=[part / 10 for part in parts]
    ),
    KEYS,
    st.integers(0, 9),
    TENTHS,
)


@pytest.mark.parametrize(
    ("holdout", "shares"),
    [(0.1, [0.5, 0.5]), (0, [0.01, 0.09, 0.2]), (0.5, []), (0.25, [0.1] * 10)],
)
@pytest.mark.parametrize("key", ["vaccination-2026-12", "ü"])
def test_of_many_people_each_side_has_its_share(key, holdout, shares):
    sides = Sides.of(key, holdout=holdout, shares=shares)
    counted = dict.fromkeys(range(HELD_OUT, len(shares) + 1), 0)
    for place in range(PEOPLE):
        counted[sides.side(f"+4915{100_000_000 + place}")] += 1

    rest = 1 - holdout
    expected = {HELD_OUT: holdout, NO_VARIANT: rest * (1 - sum(shares))}
    expected |= {place: rest * share for place, share in enumerate(shares, start=1)}
    for side, part in expected.items():
        deviation = sqrt(PEOPLE * part * max(0.0, 1 - part))
        assert abs(counted[side] - PEOPLE * part) <= DEVIATIONS_MAX * deviation + 1e-6, side


def test_two_keys_split_people_independently():
    one, two = (Sides.of(key, holdout=0.5, shares=()) for key in ("one", "two"))
    people = [f"+4915{100_000_000 + place}" for place in range(PEOPLE)]

    both = sum(one.side(person) == two.side(person) == HELD_OUT for person in people)

    assert abs(both - PEOPLE / 4) <= DEVIATIONS_MAX * sqrt(PEOPLE * 3 / 16)


@settings(max_examples=300)
@given(SPLITS, st.lists(ADDRESSES, max_size=20))
def test_a_side_depends_on_nothing_but_the_person(sides, people):
    together = {person: sides.side(person) for person in people}

    again = Sides(sides.key, sides.edges)
    assert {person: again.side(person) for person in reversed(people)} == together


@settings(max_examples=300)
@given(SPLITS)
def test_edges_never_fall_and_whole_shares_reach_the_end(sides):
    assert list(sides.edges) == sorted(sides.edges)
    assert all(0 <= edge <= 1 for edge in sides.edges)


@given(KEYS, st.integers(0, 9), st.lists(st.just(0.1), min_size=10, max_size=10), ADDRESSES)
def test_shares_of_tenths_that_sum_to_one_leave_nobody_over(key, tenths, shares, person):
    assert Sides.of(key, holdout=tenths / 10, shares=shares).edges[-1] == 1
    assert Sides.of(key, holdout=tenths / 10, shares=shares).side(person) != NO_VARIANT


@given(KEYS, st.integers(1, 8), ADDRESSES)
def test_who_is_held_out_stays_so_where_more_are(key, tenths, person):
    smaller = Sides.of(key, holdout=tenths / 10, shares=[1])
    larger = Sides.of(key, holdout=(tenths + 1) / 10, shares=[0.5, 0.5])

    assert smaller.side(person) != HELD_OUT or larger.side(person) == HELD_OUT


@given(KEYS, ADDRESSES)
def test_a_place_is_from_zero_to_below_one(key, person):
    assert 0 <= place_of(key, person) < 1


@given(KEYS, st.integers(60_000_000, 99_999_999))
def test_a_number_has_one_side_however_it_is_written(key, number):
    sides = Sides.of(key, holdout=0.5, shares=[0.3, 0.3])

    assert sides.side(match_key(f"+5531{number}")) == sides.side(match_key(f"+55319{number}"))

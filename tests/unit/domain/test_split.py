"""The hash that analysts recompute: it must never change."""

import pytest

from sluice.domain.split import HELD_OUT, NO_VARIANT, Sides, place_of


@pytest.mark.parametrize(
    ("key", "person", "place"),
    [
        ("vaccination-2026-12", "+12025550101", 0.8274990946755345),
        ("vaccination-2026-12", "US.13491208655302741918", 0.3007187994763356),
        ("früh", "+12025550101", 0.7187015846822042),
    ],
)
def test_a_place_is_what_it_was_when_this_was_written(key, person, place):
    assert place_of(key, person) == place


def test_the_holdout_comes_first_and_then_the_variants_in_their_order():
    place = place_of("k", "+12025550101")
    below, above = place - 0.001, place + 0.001

    def side(holdout, *shares):
        return Sides.of("k", holdout=holdout, shares=shares).side("+12025550101")

    assert side(above, 1) == HELD_OUT
    assert side(below, 1) == 1
    assert side(0, above) == 1
    assert side(0, below, 0.002) == 2
    assert side(0, below) == NO_VARIANT
    assert side(place, 1) == 1, "who stands at the edge is behind it"

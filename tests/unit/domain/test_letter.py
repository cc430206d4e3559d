"""Dead letters and how often they came back."""

import pytest

from sluice.domain.letter import REDRIVES, Letter


@pytest.mark.parametrize(
    ("text", "redrives"),
    [("1", 1), ("5", 5), ("999", 999), ("0", 0), ("01", 0), ("-1", 0), ("", 0), ("9" * 5000, 0)],
)
def test_a_count_is_read_as_it_is_written_and_anything_else_is_zero(text, redrives):
    assert Letter("handle", "body", {REDRIVES: text}).redrives == redrives


def test_a_letter_that_never_came_back_has_none():
    assert Letter("handle", "body", {}).redrives == 0

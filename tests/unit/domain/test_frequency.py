"""The frequency cap, as a function is told it."""

from datetime import timedelta

import pytest

from sluice.domain.frequency import FrequencyCap, contacts_kept


def test_a_cap_is_read_from_json():
    assert FrequencyCap.parse('{"messages": 2, "days": 7}') == FrequencyCap(2, 7)
    assert FrequencyCap.parse("null") is None


@pytest.mark.parametrize("text", ["", "{}", "7", '{"messages": 2}'])
def test_anything_else_is_an_error(text):
    with pytest.raises((ValueError, KeyError, TypeError)):
        FrequencyCap.parse(text)


def test_contacts_are_kept_as_long_as_something_counts_them():
    assert contacts_kept(None) == timedelta(days=1)
    assert contacts_kept(FrequencyCap(2, 7)) == timedelta(days=7)

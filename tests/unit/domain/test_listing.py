"""Lines of a list: whom they name, since when, and why some name nobody."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.audience import RejectedRow
from sluice.domain.listing import Listing
from sluice.domain.suppressions import Suppression

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
LISTING = Listing("marketing", "imported", "import crm", AT)


def row(address="+12025550101", **values):
    return LISTING.row(7, {"address": address, **values})


def test_a_line_says_no_more_than_an_address():
    assert row() == Suppression("+12025550101", "marketing", "imported", "import crm", AT)


def test_a_line_has_a_reason_a_scope_and_a_time_of_its_own():
    told = row(reason=" asked by mail ", scope="all", at="2026-02-01T10:00:00+01:00")

    at = datetime(2026, 2, 1, 9, tzinfo=UTC)
    assert told == Suppression("+12025550101", "all", "asked by mail", "import crm", at)


@pytest.mark.parametrize("address", ["+55 31 8888-7777", "+5531988887777", "tel:+553188887777"])
def test_every_way_to_write_a_number_is_one_person(address):
    assert row(address).match_key == "+5531988887777"


def test_a_time_that_is_still_to_come_is_when_the_list_was_taken():
    assert row(at="2027-01-01T00:00:00Z").since == AT


@pytest.mark.parametrize("at", ["2026-02-01 10:00:00+00", "2026-02-01T10:00:00Z"])
def test_the_times_of_an_export_are_read(at):
    assert row(at=at).since == AT - timedelta(days=28) + timedelta(hours=1)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"address": ""}, "is empty"),
        ({"address": "12025550101"}, "has no + and country code, and is no user id"),
        ({"scope": "nothing"}, "scope is none of marketing, all"),
        ({"at": "yesterday"}, "at is no time with an offset"),
        ({"at": "2026-02-01T10:00:00"}, "at is no time with an offset"),
        ({"reason": "x" * 201}, "reason is too long"),
        ({"reason": "a\0b"}, "the line is not UTF-8 text"),
        ({"reason": "\udc80"}, "the line is not UTF-8 text"),
    ],
)
def test_a_line_that_names_nobody_is_rejected_with_its_reason(values, reason):
    assert LISTING.row(7, {"address": "+12025550101", **values}) == RejectedRow(7, reason)

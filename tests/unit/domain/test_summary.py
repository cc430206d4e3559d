"""Groups of deliveries, added up."""

from itertools import pairwise

import pytest

from sluice.domain.cost import Kind
from sluice.domain.pricing import Pricing
from sluice.domain.summary import (
    AnsweredError,
    Group,
    attempts_of,
    billing_of,
    errors_of,
    first_attempt_success,
    meaning_of,
    numbers_of,
    sample_of,
)

CHARGED = Pricing("marketing", billable=True).code
FREE = Pricing("service", billable=False).code


def group(deliveries, *, state="done", status="delivered", attempt=1, **more):
    values = {
        "phone_number_id": "1",
        "error_code": None,
        "country_code": 55,
        "pricing": CHARGED,
        "waits": False,
    } | more
    return Group(state=state, status=status, attempt=attempt, deliveries=deliveries, **values)


def test_attempts_count_what_meta_took():
    groups = [
        group(90),
        group(7, attempt=2, status="read"),
        group(1, attempt=3, status="failed"),
        group(5, attempt=1, state="pending", status="none"),
    ]

    assert attempts_of(groups) == {"1": 90, "2": 7}


def test_the_first_attempt_succeeded_where_no_other_was_needed():
    groups = [
        group(90),
        group(5, attempt=2),
        group(3, state="failed", status="none", error_code=131026),
        group(2, state="pending", status="failed", attempt=1),
        group(50, state="sending", status="none"),
        group(50, state="unknown", status="none"),
        group(50, state="pending", status="none", attempt=0),
    ]

    assert first_attempt_success(groups) == 0.9
    assert first_attempt_success(groups[4:]) is None


def test_only_delivered_messages_are_billed_and_each_once():
    groups = [
        group(4, status="delivered"),
        group(3, status="read"),
        group(2, status="read", country_code=None),
        group(100, status="sent"),
        group(100, status="failed"),
        group(5, pricing=FREE),
        group(6, pricing=None),
    ]

    billing = billing_of(groups)

    assert billing.billable == {Kind(55, "marketing"): 7, Kind(None, "marketing"): 2}
    assert (billing.free, billing.untold) == (5, 6)


def test_errors_have_a_meaning_and_the_most_frequent_comes_first():
    groups = [
        group(2, state="failed", status="none", error_code=131026),
        group(1, state="failed", status="none", error_code=-3),
        group(9, error_code=131000),
    ]
    answered = [AnsweredError(131000, 12, "try again"), AnsweredError(131026, 2, "no WhatsApp")]

    errors = errors_of(groups, answered)

    assert [(one["code"], one["answers"], one["deliveries_ended"]) for one in errors] == [
        (131000, 12, 0),
        (131026, 2, 2),
        (-3, 0, 1),
    ]
    assert [one["example"] for one in errors] == ["try again", "no WhatsApp", ""]
    assert errors[1]["meaning"] == "undeliverable"


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (131049, "marketing limit of the person"),
        (-3, "the person is suppressed, nothing was sent"),
        (139999, "not in the error table"),
    ],
)
def test_every_code_has_some_words(code, meaning):
    assert meaning_of(code) == meaning


def test_each_number_has_its_own_figures():
    groups = [
        group(8),
        group(2, state="failed", status="none", error_code=131026),
        group(5, phone_number_id="2", attempt=2),
        group(1, phone_number_id=None, state="pending", status="none", attempt=0),
    ]

    assert numbers_of(groups) == {
        "1": {
            "attempts": {"1": 8},
            "first_attempt_success": 0.8,
            "ended_by_code": {"131026": 2},
        },
        "2": {"attempts": {"2": 5}, "first_attempt_success": 0.0, "ended_by_code": {}},
    }


@pytest.mark.parametrize("positions", [0, 1, 4_999, 5_000, 5_001, 14_700_000])
def test_a_sample_is_evenly_spaced_and_never_larger_than_asked(positions):
    seqs = sample_of(positions, size=5_000)

    assert len(seqs) <= 5_000
    assert len(seqs) >= min(positions, 2_500)
    assert len({after - before for before, after in pairwise(seqs)}) <= 1
    assert all(1 <= seq <= positions for seq in seqs)

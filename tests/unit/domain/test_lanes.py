"""The pace of a slot, by what the answer to its latest claim says."""

import pytest

from sluice.domain.claim import Claim
from sluice.domain.lanes import SlotPace, lends
from sluice.domain.limits import (
    HOLD_SECONDS,
    LEND_MARGIN_SECONDS,
    LEND_SECONDS,
    SKEW_SECONDS_MAX,
)

OWN, LENT = 30.0, 40.0


def bulk() -> SlotPace:
    return SlotPace("bulk", 2, OWN, LENT)


def conversation() -> SlotPace:
    return SlotPace("conversation", 2, 8.0, 8.0)


def answer(*, lent: bool = False, factor: float = 1.0, inbound: float = 0.0) -> Claim:
    return Claim(None, factor, (), lent=lent, inbound_per_second=inbound)


def gap(pace: SlotPace, at: float) -> float:
    """What lies between two sends, the first of which left at this moment."""
    return pace.due(at, at) - at


def test_nothing_is_lent_before_a_claim_says_so() -> None:
    assert gap(bulk(), 0.0) == pytest.approx(1 / OWN)


def test_what_a_claim_lends_is_over_soon_after_it_was_asked() -> None:
    pace = bulk()
    pace.heed(answer(lent=True), asked_at=10.0, answered_at=10.4)

    assert gap(pace, 10.4) == pytest.approx(1 / LENT)
    assert gap(pace, 10.0 + LEND_SECONDS) == pytest.approx(1 / OWN)


def test_a_send_that_would_leave_after_the_end_of_the_loan_keeps_its_own_gap() -> None:
    pace = bulk()
    pace.heed(answer(lent=True), asked_at=0.0, answered_at=0.0)
    last = LEND_SECONDS - 0.9 / LENT

    assert pace.due(last, last) == pytest.approx(last + 1 / OWN)


def test_a_claim_that_lends_nothing_ends_the_loan_at_once() -> None:
    pace = bulk()
    pace.heed(answer(lent=True), asked_at=0.0, answered_at=0.0)
    pace.heed(answer(), asked_at=0.5, answered_at=0.5)

    assert gap(pace, 0.5) == pytest.approx(1 / OWN)


def test_a_conversation_waits_out_what_may_be_lent() -> None:
    pace = conversation()
    pace.heed(answer(lent=True), asked_at=3.0, answered_at=3.1)

    assert pace.due(0.0, 3.1) == 3.1 + LEND_SECONDS + LEND_MARGIN_SECONDS


def test_a_conversation_that_holds_its_share_waits_no_second_time() -> None:
    pace = conversation()
    pace.heed(answer(lent=True), asked_at=0.0, answered_at=0.0)
    pace.heed(answer(lent=True), asked_at=2.0, answered_at=2.1)

    assert pace.due(0.0, 2.1) == 2.1


def test_a_hold_that_was_not_renewed_is_waited_out_again() -> None:
    pace = conversation()
    pace.heed(answer(lent=True), asked_at=0.0, answered_at=0.0)
    late = HOLD_SECONDS
    assert pace.must_ask(late)

    pace.heed(answer(lent=True), asked_at=late, answered_at=late)

    assert pace.due(0.0, late) == late + LEND_SECONDS + LEND_MARGIN_SECONDS


def test_a_hold_is_renewed_long_before_another_clock_may_take_it_for_over() -> None:
    pace = conversation()
    pace.heed(answer(), asked_at=0.0, answered_at=0.0)

    assert not pace.must_ask(HOLD_SECONDS - SKEW_SECONDS_MAX)
    assert pace.must_ask(HOLD_SECONDS - SKEW_SECONDS_MAX + 0.001)


def test_bulk_needs_no_hold() -> None:
    assert not bulk().must_ask(1e9)


def test_a_throttled_number_slows_both_paces() -> None:
    pace = bulk()
    pace.heed(answer(lent=True, factor=0.5), asked_at=0.0, answered_at=0.0)

    assert gap(pace, 0.0) == pytest.approx(2 / LENT)
    assert gap(pace, 5.0) == pytest.approx(2 / OWN)


def test_what_people_write_is_taken_from_bulk_and_not_from_conversations() -> None:
    pace, talk = bulk(), conversation()
    for one in (pace, talk):
        one.heed(answer(inbound=20.0), asked_at=0.0, answered_at=0.0)

    assert gap(pace, 0.0) == pytest.approx(1 / (OWN - 10.0))
    assert gap(talk, 0.0) == pytest.approx(1 / 8.0)


def test_bulk_never_stops_altogether_however_much_people_write() -> None:
    pace = bulk()
    pace.heed(answer(inbound=500.0), asked_at=0.0, answered_at=0.0)

    assert gap(pace, 0.0) == pytest.approx(1 / (0.05 * OWN))


def test_a_claim_is_about_a_second_of_work() -> None:
    pace = bulk()
    pace.heed(answer(lent=True), asked_at=0.0, answered_at=0.0)

    assert pace.rows(0.1) == LENT
    assert pace.rows(5.0) == OWN


@pytest.mark.parametrize(("reserved", "lent"), [(15.2, True), (13.4, True), (13.3, False)])
def test_a_number_lends_where_the_pause_between_the_lanes_makes_up_for_their_slots(
    reserved: float, lent: bool
) -> None:
    assert lends(bulk_slots=2, conversation_slots=2, reserved_per_second=reserved) is lent

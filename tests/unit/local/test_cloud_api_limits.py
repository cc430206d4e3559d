"""The cap of a number and the rate between a number and a person."""

from hypothesis import given
from hypothesis import strategies as st

from local.cloud_api.ledger import fullest_window
from local.cloud_api.limits import PairLimit, Window

PAIR = ("106540352242922", "4915100000000")


def accepted_of(arrivals, cap):
    window, accepted = Window(), []
    for arrived in arrivals:
        if not window.full(arrived, cap):
            window.accept(arrived)
            accepted.append(arrived)
    return accepted


def test_a_request_exactly_one_second_after_the_first_opens_a_new_window():
    assert accepted_of([5.0, 5.5, 6.0], cap=2) == [5.0, 5.5, 6.0]


def test_a_request_just_inside_the_second_is_over_the_cap():
    assert accepted_of([5.0, 5.5, 5.999], cap=2) == [5.0, 5.5]


def test_refused_requests_take_nothing_from_the_cap():
    assert accepted_of([0.0, 0.1, 0.2, 0.3, 1.0], cap=1) == [0.0, 1.0]


@given(st.lists(st.floats(0, 1000), max_size=200).map(sorted), st.integers(1, 5))
def test_what_the_window_admits_never_exceeds_the_cap_by_the_ledgers_count(arrivals, cap):
    most, over = fullest_window(accepted_of(arrivals, cap), cap)
    assert most <= cap
    assert over == 0


@given(st.lists(st.floats(0, 1000), max_size=60).map(sorted), st.integers(1, 5))
def test_the_fullest_window_is_that_of_counting_every_window(times, cap):
    counts = [sum(begins <= other < begins + 1.0 for other in times) for begins in set(times)]
    most, _ = fullest_window(times, cap)
    assert most == max(counts, default=0)


def test_every_request_that_begins_a_window_over_the_cap_is_counted():
    assert fullest_window([0.0, 0.1, 0.2, 0.3, 2.0], cap=2) == (4, 2)


def test_an_overtaken_request_is_judged_at_the_time_of_the_one_before_it():
    window = Window()
    assert [window.in_order(arrived) for arrived in (2.0, 1.9, 2.1)] == [2.0, 2.0, 2.1]


def admitted(times, burst=45):
    limit = PairLimit()
    return [limit.admits(PAIR, now, interval=6.0, burst=burst) for now in times]


def test_a_person_may_get_one_message_every_six_seconds():
    assert admitted([0.0, 6.0, 12.0]) == [True, True, True]


def test_a_burst_of_45_passes_and_the_46th_does_not():
    assert admitted([0.0] * 46) == [True] * 45 + [False]


def test_a_burst_of_20_is_repaid_in_two_minutes():
    assert admitted([0.0] * 20 + [6.0, 119.9, 120.0])[20:] == [False, False, True]


def test_another_person_is_not_held_up():
    limit = PairLimit()
    for _ in range(46):
        limit.admits(PAIR, 0.0, interval=6.0, burst=45)
    assert limit.admits((PAIR[0], "4915100000001"), 0.0, interval=6.0, burst=45)


def test_who_owes_nothing_is_forgotten():
    limit = PairLimit()
    for person in range(100):
        limit.admits((PAIR[0], str(person)), 0.0, interval=6.0, burst=45)
    limit.admits(PAIR, 60.0, interval=6.0, burst=45)
    assert len(limit._bursts) == 1

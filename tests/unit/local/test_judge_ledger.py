"""The judge of every scenario: right books pass, and each thing that may go wrong is seen."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from local.cloud_api.ledger import Request, Status
from local.judge.books import Books, Row
from local.judge.checks import Expected
from local.judge.judgement import Outcome, checks_before, judge

NUMBER = "106540352242922"
CAMPAIGN = "reminder"
EXPECTED = Expected(CAMPAIGN, people=3, rejected=1, sent_to=frozenset({"+491", "+492", "+493"}))
EVERYBODY = "everybody in the audience is there once"
FINAL = "every recipient is in one final state"
COUNTERS = "the counters equal the rows"
LOST = "nothing is lost"
TWICE = "nobody is sent again whose message may have arrived"
CAP = "no window is over the cap"
STATUSES = "every status is the highest that was told"
LEFT = "nothing is parked, dead or unrouted"
AS_GIVEN = (
    f"{CAMPAIGN}: all who shall be are sent to at the number as it was given, and nobody else"
)


def request(seq: int, attempt: int = 1, *, arrived: float = 0.0, to: str = "") -> Request:
    opaque_id, wamid = f"7:{seq}:{attempt}", f"wamid.{seq}.{attempt}"
    address = to or f"+49{seq}"
    return Request(
        seq * 10 + attempt, seq + arrived, 0.0, NUMBER, address, opaque_id, "accepted", wamid, "t"
    )


def status(wamid: str, name: str, at: float = 10.0) -> Status:
    return Status(at, 0.0, wamid, "", name, None)


def row(state: str = "done", label: str = "delivered", attempt: int = 1) -> Row:
    return Row(state, label, attempt, final=True)


RIGHT = Books(
    reports={CAMPAIGN: {"campaign_id": 7, "total": 3, "rejected": 1}},
    rows={"7:1": row(), "7:2": row("failed", "failed"), "7:3": row(attempt=2)},
    counted={(7, "done"): 2, (7, "failed"): 1},
    requests=[request(1), request(2), request(3), request(3, 2, arrived=20.0)],
    told={
        "wamid.1.1": [status("wamid.1.1", "sent"), status("wamid.1.1", "delivered")],
        "wamid.2.1": [status("wamid.2.1", "failed")],
        "wamid.3.1": [status("wamid.3.1", "failed")],
        "wamid.3.2": [status("wamid.3.2", "delivered")],
    },
    caps={NUMBER: 2},
    left={},
)
"""Three people: one got it, one never will, and one got it after Meta gave up the first message."""


def broken(books: Books, expected: Expected = EXPECTED) -> set[str]:
    """The checks that do not hold."""
    return {
        check.name
        for check in judge("a-day", books, Outcome((expected,))).checks
        if not check.holds
    }


def with_row(key: str, changed: Row) -> Callable[[Books], Books]:
    return lambda books: replace(books, rows={**books.rows, key: changed})


def with_request(*more: Request) -> Callable[[Books], Books]:
    return lambda books: replace(books, requests=[*books.requests, *more])


def test_right_books_hold_and_say_so() -> None:
    judgement = judge("a-day", RIGHT, Outcome((EXPECTED,)))

    assert broken(RIGHT) == set()
    assert judgement.holds
    assert judgement.as_json()["holds"] is True
    assert [use.sends for use in judgement.numbers] == [4]


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (lambda books: replace(books, rows={**books.rows, "7:4": row("failed")}), EVERYBODY),
        (with_row("7:2", Row("queued", "none", 1, final=False)), FINAL),
        (lambda books: replace(books, counted={(7, "done"): 3}), COUNTERS),
        (lambda books: replace(books, requests=books.requests[1:]), LOST),
        (with_row("7:1", row("cancelled")), LOST),
        (with_request(request(1, arrived=50.0)), TWICE),
        (with_request(request(1, 2, arrived=50.0)), TWICE),
        (with_request(request(3, 2, arrived=50.0)), TWICE),
        (lambda books: replace(books, caps={NUMBER: 0}), CAP),
        (with_request(*(request(9, 1, arrived=place / 9) for place in range(3))), CAP),
        (with_row("7:1", row(label="sent")), STATUSES),
        (lambda books: replace(books, left={"parked": 1}), LEFT),
        (with_request(request(4, to="+494")), AS_GIVEN),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_seen(wrong: Callable[[Books], Books], check: str) -> None:
    assert check in broken(wrong(RIGHT))


def test_a_failure_that_was_told_after_the_next_attempt_excuses_nothing() -> None:
    late = {**RIGHT.told, "wamid.3.1": [status("wamid.3.1", "failed", at=99.0)]}

    assert broken(replace(RIGHT, told=late)) == {TWICE}


def test_a_message_that_arrived_all_the_same_excuses_nothing() -> None:
    arrived = [status("wamid.3.1", "failed"), status("wamid.3.1", "delivered")]

    assert TWICE in broken(replace(RIGHT, told={**RIGHT.told, "wamid.3.1": arrived}))


def test_a_policy_excuses_another_attempt_and_not_the_same_one_twice() -> None:
    unknown = {wamid: found for wamid, found in RIGHT.told.items() if wamid != "wamid.3.1"}
    resends = replace(EXPECTED, resends=True)

    assert broken(replace(RIGHT, told=unknown)) == {TWICE}
    assert broken(replace(RIGHT, told=unknown), resends) == set()
    assert TWICE in broken(with_request(request(3, 2, arrived=50.0))(RIGHT), resends)


def test_a_campaign_that_was_erased_leaves_nothing_to_compare() -> None:
    erased = replace(RIGHT, counted={**RIGHT.counted, (8, "done"): 1})
    of_it = request(1)._replace(opaque_id="8:1:1", arrived=90.0)

    assert broken(with_request(of_it)(erased)) <= {AS_GIVEN}


def test_without_a_campaign_nothing_holds() -> None:
    assert not judge("a-day", RIGHT, Outcome(())).holds


def test_checks_of_an_earlier_moment_say_which() -> None:
    [first, *_] = checks_before("before", RIGHT, [EXPECTED])

    assert first.name == f"before: {EVERYBODY}"
    assert first.holds

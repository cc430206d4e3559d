"""What must hold of every scenario: nobody lost, nobody twice, no second over the cap."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from local.cloud_api.ledger import Request
from local.judge.books import Books
from local.judge.checks import Check, Expected
from local.judge.numbers import NumberUse
from sluice.domain.delivery import STATUS_OF_WEBHOOK, Status


def ledger_checks(
    books: Books, expected: Sequence[Expected], numbers: Sequence[NumberUse]
) -> list[Check]:
    """Compare campaigns that have ended with what the Cloud API accepted and told of them."""
    checks = [
        _everybody(books, expected),
        _final(books),
        _counters(books),
        _nothing_lost(books),
        _nothing_twice(books, expected),
        _under_the_cap(numbers),
        _statuses(books),
        _nothing_left(books),
    ]
    return checks + [
        _as_given(books, one.campaign, one.sent_to) for one in expected if one.sent_to is not None
    ]


def _everybody(books: Books, expected: Sequence[Expected]) -> Check:
    found = []
    holds = bool(expected)
    for one in expected:
        report, rows = books.reports[one.campaign], len(books.rows_of(one.campaign))
        holds &= rows == report["total"] == one.people and report["rejected"] == one.rejected
        found.append(
            f"{rows} recipients of {one.people}, {report['rejected']} rejected of {one.rejected}"
        )
    return Check("everybody in the audience is there once", holds, "; ".join(found))


def _as_given(books: Books, campaign: str, expected: frozenset[str]) -> Check:
    accepted = books.accepted_of(campaign).values()
    sent = {request.recipient for requests in accepted for request in requests}
    return Check(
        f"{campaign}: all who shall be are sent to at the number as it was given, and nobody else",
        sent == expected,
        f"{len(sent & expected)} of {len(expected)}, {len(sent - expected)} others",
    )


def _final(books: Books) -> Check:
    states = Counter(row.state for row in books.rows.values())
    opened = sum(not row.final for row in books.rows.values())
    found = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return Check("every recipient is in one final state", opened == 0, found)


def _counters(books: Books) -> Check:
    campaigns = {int(key.partition(":")[0]) for key in books.rows}
    states = Counter((int(key.partition(":")[0]), row.state) for key, row in books.rows.items())
    # Of a campaign that was erased nothing but the counters is there.
    counted = {key: count for key, count in books.counted.items() if key[0] in campaigns}
    return Check("the counters equal the rows", states == counted, f"{sum(counted.values())}")


def _nothing_lost(books: Books) -> Check:
    sent = {opaque_id.rpartition(":")[0] for opaque_id in books.accepted}
    # Of a campaign that was erased there are no rows; what was expected of it was judged before.
    kept = {key.partition(":")[0] for key in books.rows}
    sent = {key for key in sent if key.partition(":")[0] in kept}
    done = {key for key, row in books.rows.items() if row.state == "done"}
    # Unknown is known to be unknown: the policy left it so, and the report counts it.
    doubted = {key for key, row in books.rows.items() if row.state in ("unknown", "failed")}
    unsent, unseen = done - sent, sent - done - doubted
    return Check(
        "nothing is lost",
        not unsent and not unseen,
        f"{len(sent)} accepted, {len(done)} done; {len(unsent)} done but never accepted, "
        f"{len(unseen)} accepted but not known",
    )


def _nothing_twice(books: Books, expected: Sequence[Expected]) -> Check:
    resends = {str(books.reports[one.campaign]["campaign_id"]) for one in expected if one.resends}
    twice = wrong = 0
    for key, requests in _by_recipient(books):
        twice += len(requests) > 1
        attempts = [request.opaque_id for request in requests]
        by_policy = key.partition(":")[0] in resends and len(set(attempts)) == len(attempts)
        wrong += not by_policy and not all(
            _was_given_up(books, one, before=following) for one, following in pairwise(requests)
        )
    found = f"{twice} accepted again, {twice - wrong} of them rightly" if twice else "nobody"
    return Check("nobody is sent again whose message may have arrived", wrong == 0, found)


def _by_recipient(books: Books) -> Iterator[tuple[str, list[Request]]]:
    found: dict[str, list[Request]] = {}
    for opaque_id, requests in books.accepted.items():
        found.setdefault(opaque_id.rpartition(":")[0], []).extend(requests)
    for key, requests in found.items():
        yield key, sorted(requests)


def _was_given_up(books: Books, request: Request, *, before: Request) -> bool:
    """Whether Meta had said that the message failed when the next one came."""
    told = [one for one in books.told.get(request.wamid, ()) if one.at < before.arrived]
    return "failed" in {one.status for one in told} and not {"delivered", "read"} & {
        one.status for one in told
    }


def _under_the_cap(numbers: Sequence[NumberUse]) -> Check:
    over = sum(number.windows_over for number in numbers)
    fullest = max((number.fullest_second for number in numbers), default=0)
    return Check(
        "no window is over the cap", over == 0, f"at most {fullest} in a second, {over} over"
    )


def _statuses(books: Books) -> Check:
    wrong = 0
    for opaque_id, requests in books.accepted.items():
        key, _, attempt = opaque_id.rpartition(":")
        row = books.rows.get(key)
        if row is None or row.attempt != int(attempt):
            continue
        ranks = [
            STATUS_OF_WEBHOOK[status.status]
            for request in requests
            for status in books.told.get(request.wamid, ())
            if status.status in STATUS_OF_WEBHOOK
        ]
        highest = max(ranks, default=Status.NONE)
        wrong += highest > Status.ACCEPTED and row.status != highest.label
    count = sum(map(len, books.told.values()))
    return Check(
        "every status is the highest that was told", wrong == 0, f"{count} told, {wrong} differ"
    )


def _nothing_left(books: Books) -> Check:
    found = str(dict(books.left)) if books.left else "all queues empty"
    return Check("nothing is parked, dead or unrouted", not books.left, found)

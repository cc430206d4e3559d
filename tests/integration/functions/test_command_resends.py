"""Orders to send again, on real Postgres: who is taken, once, and what is told of them."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from functions.report.handler import handle as handle_report
from sluice.adapters.postgres import resends
from sluice.adapters.postgres.reconciliations import FINISH, LOCK_CAMPAIGN
from sluice.adapters.postgres.resends import Resends
from sluice.adapters.prices import read_prices
from sluice.domain.delivery import reduce_updates, update_of
from sluice.domain.outcomes import Accepted, Failed, Retry
from sluice.domain.requests import parse, request_hash
from sluice.domain.results import (
    SUPPRESSED,
    TOO_OFTEN,
    UNANSWERED,
    UNRENDERABLE,
    WINDOW_CLOSED,
    result_of,
)
from sluice.domain.suppressions import Suppression, match_key
from tests.conftest import NOW, connect
from tests.integration.functions.ports import event_of, failed, reasons, wait_until_blocked
from tests.integration.functions.test_audit import enveloped, sent_by

PAYMENT, UNDELIVERABLE, UNHEARD_OF = 131042, 131026, 999_999
FINAL = "due_at = NULL, attempt = 1"
ENDS = {
    "delivered": f"{FINAL}, state = 'done', status = 'delivered'",
    "accepted": f"{FINAL}, state = 'done', status = 'accepted'",
    "silent": f"{FINAL}, state = 'done', status = 'expired'",
    "payment": f"{FINAL}, state = 'failed', error_code = {PAYMENT}",
    "undeliverable": f"{FINAL}, state = 'failed', error_code = {UNDELIVERABLE}",
    "unheard of": f"{FINAL}, state = 'failed', error_code = {UNHEARD_OF}",
    "given up": f"{FINAL}, state = 'done', status = 'failed', error_code = {PAYMENT}",
    "given up for good": f"{FINAL}, state = 'done', status = 'failed', error_code = 131026",
    "without a code": f"{FINAL}, state = 'done', status = 'failed'",
    "unrenderable": f"{FINAL}, state = 'failed', error_code = {UNRENDERABLE}",
    "window closed": f"{FINAL}, state = 'failed', error_code = {WINDOW_CLOSED}",
    "was suppressed": f"{FINAL}, state = 'failed', error_code = {SUPPRESSED}",
    "too often": f"{FINAL}, state = 'failed', error_code = {TOO_OFTEN}",
    "unanswered": f"{FINAL}, state = 'failed', error_code = {UNANSWERED}",
    "unknown": f"{FINAL}, state = 'unknown'",
    "unknown, in its window": "state = 'unknown', attempt = 1",
    "expired": "due_at = NULL, state = 'expired'",
    "waits": "state = 'pending'",
}
"""How a delivery may stand; the place in this list is its position in the audience."""
MENDABLE = {"payment", "given up", "was suppressed", "too often"}
TAKEN = {
    "pending": {"expired"},
    "failed_retryable": MENDABLE,
    "failed": {*MENDABLE, "undeliverable", "unheard of", "given up for good", "without a code"},
    "unknown": {"unknown", "unanswered"},
}


def order(scope="failed_retryable", **changes):
    """An order, as an event."""
    body = {"kind": "command", "action": "resend", "campaign": "reminder", "id": "once-more"}
    return event_of({**body, "scope": scope, **changes}, kind="command")


def model(event):
    """The order of an event."""
    return parse(event["Records"][0]["body"], {"kind": "command"})


def hash_of(event):
    """The hash of its content."""
    return request_hash(model(event))


def end(world, campaign_id, *ends, finished=True):
    """Let the deliveries from the first on stand so, and the campaign be finished."""
    for seq, name in enumerate(ends, start=1):
        world.database.fetch(
            f"UPDATE delivery SET {ENDS[name]} WHERE campaign_id = %s AND seq = %s",
            (campaign_id, seq),
        )
    if finished:
        world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = %s", (NOW,))


def campaign_of(world, *ends, finished=True, **changes):
    """A campaign whose deliveries stand so."""
    campaign_id = world.campaign(len(ends), **changes)
    end(world, campaign_id, *ends, finished=finished)
    return campaign_id


def taken(world, campaign_id):
    """Positions that were taken, as they are pending since."""
    rows = world.database.fetch(
        "SELECT seq FROM delivery WHERE campaign_id = %s AND state = 'pending' AND due_at = %s"
        " ORDER BY seq",
        (campaign_id, NOW + timedelta(hours=1)),
    )
    return [seq for (seq,) in rows]


@pytest.fixture
def later(clock):
    """An hour after everything was published."""
    clock.advance(3600)
    return clock.now()


@pytest.fixture
def ask(world, clock):
    """What the report answers."""

    def ask(**event):
        return handle_report(
            event,
            reports=world.reports,
            resends=world.resends,
            messages=None,
            prices=read_prices,
            clock=clock,
        )

    return ask


def sent_again(world, campaign_id, *, now):
    """Queue and claim what is pending."""
    world.queue(campaign_id, now=now)
    return world.claim(campaign_id, range(1, 100), now=now)


def settle(world, row, outcome, *, now):
    """Record an answer."""
    policy = world.claims.policy(row.key.campaign_id)
    result = result_of(row, outcome, policy, now=now, dice=0.5)
    world.claims.record([result], now=now, patience_seconds=1)


def told(world, campaign_id, kind, attempt, *, at):
    """Apply a status of the first delivery."""
    status = {"id": f"wamid.{attempt}", "status": kind, "timestamp": str(int(at.timestamp()))}
    status |= {"opaque": f"{campaign_id}:1:{attempt}"}
    world.statuses.apply(reduce_updates([update_of(status)]), retries={}, failures=[], now=at)


@pytest.mark.parametrize("scope", TAKEN)
@pytest.mark.usefixtures("later")
def test_a_scope_takes_those_whom_it_names_and_nobody_else(world, command, clock, scope):
    campaign_id = campaign_of(world, *ENDS, finished=False)

    answer = command.run(order(scope))

    assert not failed(answer)
    pending = world.database.fetch(
        "SELECT seq FROM delivery WHERE state = 'pending' AND due_at IS NOT NULL ORDER BY seq"
    )
    names = list(ENDS)
    assert {names[seq - 1] for (seq,) in pending} == TAKEN[scope] | {"waits"}
    assert command.telemetry.counts()["Resent"] == len(TAKEN[scope])
    assert world.counters_equal_rows()
    assert world.row(campaign_id, 1)["status"] == "delivered"


def test_who_is_suppressed_by_now_is_left_out_and_a_lifted_one_is_not(world, command, later):
    campaign_id = campaign_of(world, "was suppressed", "was suppressed", "payment")
    stop = Suppression(match_key("+4915155000001"), "marketing", "asked", "message", NOW)
    world.suppressions.suppress([stop])

    command.run(order("failed"))

    assert taken(world, campaign_id) == [2, 3]


def test_what_claims_refused_is_not_counted_twice(world, command, ask, later):
    campaign_of(world, "was suppressed", "was suppressed")
    world.database.fetch("INSERT INTO refusal_counter SELECT campaign_id, -3, 0, 2 FROM campaign")

    command.run(order())

    assert ask(campaign="reminder")["refused"]["suppressed"] == 0


def test_a_finished_campaign_is_open_again_and_ends_again(world, command, later):
    campaign_id = campaign_of(world, "payment", "delivered")

    command.run(order())
    (first,) = sent_again(world, campaign_id, now=later)
    settle(world, first, Accepted("wamid.2"), now=later)

    assert world.database.fetch("SELECT state, finished_at FROM campaign") == [("running", None)]
    assert command.waker.wakes == 1
    (still_open,) = world.reconciliations.open_campaigns(now=later)
    assert world.reconciliations.finish(still_open, now=later)
    assert world.states(campaign_id) == {"done": 2}


def test_attempts_are_given_anew_and_go_on_counting(world, command, later):
    campaign_id = campaign_of(world, "payment", max_attempts=2)
    command.run(order())
    retry = Retry(131000, "", after_seconds=0, base_seconds=0, cap_seconds=0)
    states = []

    for _ in range(2):
        (row,) = sent_again(world, campaign_id, now=later)
        settle(world, row, retry, now=later)
        states.append((row.attempt, row.tries, world.row(campaign_id)["state"]))

    assert states == [(2, 1, "pending"), (3, 2, "failed")]


def test_a_status_that_asks_for_another_attempt_gets_the_new_ones(world, command, later):
    campaign_id = campaign_of(world, "payment", max_attempts=2)
    command.run(order())
    (row,) = sent_again(world, campaign_id, now=later)
    settle(world, row, Accepted("wamid.2"), now=later)
    status = {"id": "wamid.2", "status": "failed", "timestamp": str(int(later.timestamp()))}
    update = update_of(status | {"opaque": f"{campaign_id}:1:2"})

    applied = world.statuses.apply(
        reduce_updates([update]), retries={update.key: later}, failures=[], now=later
    )

    assert applied.again == 1


def test_a_late_delivered_before_the_new_attempt_ends_it_unsent(world, command, later):
    campaign_id = campaign_of(world, "given up")
    command.run(order())

    told(world, campaign_id, "delivered", 1, at=later)

    assert sent_again(world, campaign_id, now=later) == ()
    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["attempt"]) == ("done", "delivered", 1)


def test_a_late_delivered_of_the_first_attempt_after_the_new_one_changes_nothing(
    world, command, later
):
    campaign_id = campaign_of(world, "given up")
    command.run(order())
    (row,) = sent_again(world, campaign_id, now=later)
    before = world.row(campaign_id)

    told(world, campaign_id, "delivered", 1, at=later)
    assert world.row(campaign_id) == before

    settle(world, row, Accepted("wamid.2"), now=later)
    told(world, campaign_id, "delivered", 1, at=later)
    assert world.row(campaign_id)["status"] == "accepted"


def test_an_order_that_comes_twice_takes_nobody_twice(world, command, later):
    campaign_id = campaign_of(world, "payment", "payment")
    command.run(order())
    for row in sent_again(world, campaign_id, now=later):
        settle(world, row, Failed(PAYMENT, "still"), now=later)

    command.run(order())

    assert world.states(campaign_id) == {"failed": 2}
    assert command.telemetry.counts()["Resent"] == 2


def test_an_order_that_runs_out_of_time_goes_on_where_it_stopped(
    world, command, later, monkeypatch
):
    monkeypatch.setattr(resends, "RESEND_BATCH_ROWS", 2)
    campaign_id = campaign_of(world, *["payment"] * 5)
    world.resends.begin(model(order()), request_hash=hash_of(order()), now=later)
    world.resends.take(campaign_id, "once-more", now=later)
    for row in sent_again(world, campaign_id, now=later):
        settle(world, row, Failed(PAYMENT, "again"), now=later)

    assert failed(command.run(order(), seconds=1)), "no time: it comes again"
    assert not failed(command.run(order()))

    assert taken(world, campaign_id) == [3, 4, 5]
    assert world.states(campaign_id) == {"failed": 2, "pending": 3}


def test_an_expired_campaign_needs_a_new_end(world, command, aws, later):
    expires_at = NOW + timedelta(minutes=30)
    campaign_id = campaign_of(world, "expired", "payment", expires_at=expires_at.isoformat())

    command.run(order("pending"))
    assert reasons(aws) == ["the campaign expired at 2026-03-01T09:30:00+00:00: give expires_at"]
    command.run(order("pending", expires_at="2026-03-01T09:45:00Z"))
    assert reasons(aws) == ["expires_at is over"]
    command.run(order("pending", expires_at="2026-03-01T12:00:00Z"))

    assert world.states(campaign_id) == {"failed": 1, "pending": 1}
    assert [row.key.seq for row in sent_again(world, campaign_id, now=later)] == [1]


def test_a_cancelled_campaign_sends_nothing_again(world, command, aws, later):
    campaign_id = campaign_of(world, "payment", finished=False)
    world.orders.command_campaign("reminder", state="cancelled", reason=None)

    command.run(order())

    assert reasons(aws) == ["the campaign is cancelled"]
    assert world.states(campaign_id) == {"failed": 1}


def test_a_campaign_that_is_cancelled_meanwhile_stops_the_order(
    world, command, aws, later, monkeypatch
):
    monkeypatch.setattr(resends, "RESEND_BATCH_ROWS", 1)
    campaign_id = campaign_of(world, "payment", "payment", finished=False)
    world.resends.begin(model(order()), request_hash=hash_of(order()), now=later)
    world.resends.take(campaign_id, "once-more", now=later)
    world.orders.command_campaign("reminder", state="cancelled", reason=None)

    command.run(order())

    assert reasons(aws) == ["the campaign is cancelled; 1 are sent again"]
    assert world.states(campaign_id) == {"failed": 1, "pending": 1}


def test_an_id_with_another_content_is_refused(world, command, aws, later):
    campaign_of(world, "payment")
    command.run(order())

    command.run(order("failed"))

    assert reasons(aws) == ["the resend once-more of this campaign exists with another content"]


def test_a_campaign_with_stages_counts_who_was_never_tried_among_those_it_lets_go(
    world, command, later
):
    campaign_id = campaign_of(
        world, "expired", "payment", finished=False, stages=[{"recipients": 1}]
    )

    command.run(order("pending"))
    command.run(order("failed", id="another"))

    due = world.database.fetch(
        "SELECT due_at FROM delivery WHERE campaign_id = %s ORDER BY seq", (campaign_id,)
    )
    assert due == [(NOW,), (later,)]


def test_a_preview_tells_counts_and_cost_and_changes_nothing(world, ask, later):
    campaign_id = campaign_of(world, "payment", "too often", "delivered", "payment", "payment")
    world.database.fetch("UPDATE delivery SET country_code = 55 WHERE seq = 5")
    stop = Suppression(match_key("+4915155000004"), "all", "asked", "message", NOW)
    world.suppressions.suppress([stop])
    before = world.database.fetch("SELECT * FROM delivery ORDER BY seq")

    answer = ask(campaign="reminder", resend="failed_retryable")

    assert (answer["deliveries"], answer["suppressed"], answer["hindrance"]) == (3, 1, None)
    assert [(one["code"], one["deliveries"]) for one in answer["by_code"]] == [
        (PAYMENT, 2),
        (TOO_OFTEN, 1),
    ]
    assert answer["by_country"] == [
        {"country_code": 49, "deliveries": 2},
        {"country_code": 55, "deliveries": 1},
    ]
    assert (answer["cost"]["amount"], answer["cost"]["priced"]) == ("0.0625", 1)
    assert world.database.fetch("SELECT * FROM delivery ORDER BY seq") == before
    assert world.states(campaign_id) == {"failed": 4, "done": 1}


@pytest.mark.parametrize("scope", TAKEN)
def test_a_preview_counts_whom_the_order_takes(world, command, ask, later, scope):
    campaign_of(world, *ENDS, finished=False)

    counted = ask(campaign="reminder", resend=scope)["deliveries"]
    command.run(order(scope))

    assert ask(campaign="reminder")["resends"][0]["taken"] == counted == len(TAKEN[scope])


def test_a_preview_says_what_would_refuse_the_order(world, ask, later):
    campaign_of(world, "expired", expires_at=(NOW + timedelta(minutes=30)).isoformat())

    assert "give expires_at" in ask(campaign="reminder", resend="pending")["hindrance"]


def test_a_preview_that_takes_too_long_says_so(world, ask, monkeypatch):
    campaign_of(world, "payment")
    slow = "SELECT pg_sleep(5) WHERE %(campaign_id)s IS NOT NULL"
    monkeypatch.setattr(resends, "CANDIDATES", slow)
    monkeypatch.setattr(resends, "REPORT_DETAILS_SECONDS", 0.05)

    assert "took longer" in ask(campaign="reminder", resend="failed")["problem"]


def test_the_report_of_a_campaign_lists_its_resends(world, command, ask, later):
    campaign_of(world, "payment", "delivered")
    command.run(order())

    assert ask(campaign="reminder")["resends"] == [
        {
            "id": "once-more",
            "scope": "failed_retryable",
            "taken": 1,
            "began_at": later.isoformat(),
            "finished_at": later.isoformat(),
            "stopped": None,
        }
    ]


def test_what_a_reconciler_finishes_meanwhile_is_open_again(world, database_url, later):
    campaign_id = campaign_of(world, "payment", finished=False)
    world.resends.begin(model(order()), request_hash=hash_of(order()), now=later)
    other, finisher = connect(database_url), connect(database_url)
    own = {"campaign_id": campaign_id, "now": later}

    with ThreadPoolExecutor() as pool, finisher.run(lambda live: live).transaction():
        finisher.fetch(LOCK_CAMPAIGN, own)
        taking = pool.submit(Resends(other).take, campaign_id, "once-more", now=later)
        wait_until_blocked(world.database)
        assert finisher.fetch(FINISH, own), "nothing of it is open yet"

    assert taking.result(timeout=10).taken == 1
    assert world.database.fetch("SELECT state, finished_at FROM campaign") == [("running", None)]
    assert taken(world, campaign_id) == [1]
    other.close()
    finisher.close()


HELD = ("awaiting approval", "awaited")


def standing(ask):
    answer = ask(campaign="reminder")
    approval = answer["approval"]
    return answer["state"], approval and approval["state"]


def approval_by(message_id):
    """An approver's decision, as SQS tells of it."""
    body = {"kind": "command", "action": "approve", "campaign": "reminder"}
    event = sent_by(event_of(body), "AROAEXAMPLE:grace")
    event["Records"][0]["messageId"] = message_id
    return event


def pickable(world, *, now):
    with world.picks.round(now=now) as current:
        return len(current.demands())


@pytest.mark.parametrize(
    ("people", "held"), [(2, False), (3, True)], ids=["at the limit", "above it"]
)
def test_a_resend_to_more_people_than_the_limit_is_held_until_an_approval(
    world, command, approve, ask, later, people, held
):
    campaign_of(world, *["payment"] * people, "delivered", "payment")
    stop = Suppression(match_key(f"+491515500000{people + 2}"), "all", "asked", "message", NOW)
    world.suppressions.suppress([stop])

    command.run(order(), approval_above=2)

    assert standing(ask) == (HELD if held else ("running", None))
    assert pickable(world, now=later) == (0 if held else 1)
    assert world.reconciliations.standing().awaiting_approval == int(held)
    if held:
        approve.run(approval_by("message-1"))
        assert standing(ask) == ("running", "given")
        assert pickable(world, now=later) == 1


def test_a_resend_that_was_approved_on_its_way_is_not_held_again(
    world, command, approve, ask, later, monkeypatch
):
    monkeypatch.setattr(resends, "RESEND_BATCH_ROWS", 2)
    campaign_id = campaign_of(world, *["payment"] * 5)
    world.resends.begin(model(order()), request_hash=hash_of(order()), now=later)
    world.resends.take(campaign_id, "once-more", now=later, above=2)
    approve.run(approval_by("message-1"))

    command.run(order(), approval_above=2)

    assert standing(ask) == ("running", "given")
    assert taken(world, campaign_id) == [1, 2, 3, 4, 5]


def test_who_cannot_be_counted_in_time_is_held_as_the_whole_audience(
    world, command, ask, later, monkeypatch
):
    campaign_id = campaign_of(world, "payment", "delivered", "delivered")
    slow = "SELECT pg_sleep(5) WHERE %(campaign_id)s IS NOT NULL"
    monkeypatch.setattr(resends, "CANDIDATES", slow)
    monkeypatch.setattr(resends, "REPORT_DETAILS_SECONDS", 0.05)

    command.run(order(), approval_above=2)

    assert standing(ask) == HELD
    assert taken(world, campaign_id) == [1]


def test_an_approval_that_is_delivered_again_lets_no_later_resend_go(
    world, command, approve, aws, ask, later
):
    campaign_id = campaign_of(world, *["payment"] * 3)
    command.run(order(), approval_above=2)
    approve.run(approval_by("message-1"))
    for row in sent_again(world, campaign_id, now=later):
        settle(world, row, Failed(PAYMENT, "still"), now=later)
    command.run(order(id="another"), approval_above=2)

    assert not failed(approve.run(approval_by("message-1")))

    assert (standing(ask), reasons(aws)) == (HELD, [])
    approve.run(approval_by("message-2"))
    assert standing(ask) == ("running", "given")


def test_a_resend_is_noted_with_who_ordered_it_and_what_came_of_it(world, command, ask, later):
    campaign_of(world, "payment", "payment", "payment")
    ordered = event_of(enveloped(json.loads(order(reason="Paid.")["Records"][0]["body"]), by="ada"))

    for _ in range(2):
        command.run(ordered, approval_above=2)

    rows = list(reversed(ask(audit={"campaign": "reminder"})["audit"]))
    start = next(place for place, row in enumerate(rows) if row["action"] == "resend")
    assert [(row["actor"], row["action"], row["details"]) for row in rows[start:]] == [
        ("ada", "resend", {"resend": "once-more", "scope": "failed_retryable", "reason": "Paid."}),
        ("sluice", "held for approval", {"people": 3, "above": 2}),
        ("sluice", "resend finished", {"resend": "once-more", "people": 3}),
    ]

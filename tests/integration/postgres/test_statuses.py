"""Statuses end right whatever their order, and however often they come."""

from datetime import timedelta
from itertools import permutations

import pytest

from sluice.domain.claim import Key
from sluice.domain.delivery import Status, UnmatchedStatus, matched
from sluice.domain.outcomes import Accepted, Unknown
from sluice.domain.pricing import Pricing
from sluice.domain.results import handed_back, result_of
from sluice.domain.suppressions import match_key
from sluice.steps.status import StatusWriter, write_split
from tests.conftest import NOW, NUMBER, SetClock


def status(campaign_id, kind, *, seq=1, attempt=1, seconds=0, wamid="wamid.A", **more):
    at = int((NOW + timedelta(seconds=seconds)).timestamp())
    return {
        "id": wamid,
        "status": kind,
        "timestamp": str(at),
        "opaque": f"{campaign_id}:{seq}:{attempt}",
        **more,
    }


def writer(world, statuses=None):
    return StatusWriter(
        statuses=statuses or world.statuses,
        stops=world.stops,
        clock=SetClock(),
        dice=lambda: 0.5,
    )


def apply(world, *statuses):
    return writer(world).write(statuses)


def record(world, claimed, outcome):
    policy = world.claims.policy(claimed.key.campaign_id)
    result = result_of(claimed, outcome, policy, now=NOW, dice=0.5)
    world.claims.record([result], now=NOW, patience_seconds=1)


def test_a_status_before_the_wamid_is_stored_ends_the_row(world):
    campaign_id, (first, *_) = world.sending()

    apply(world, status(campaign_id, "delivered", seconds=2))
    record(world, first, Accepted("wamid.A"))

    row = world.row(campaign_id)
    assert (row["state"], row["status"]) == ("done", "delivered")
    assert row["accepted_at"] == NOW
    assert world.statuses.resolve(["wamid.A"])
    assert world.counters_equal_rows()


@pytest.mark.parametrize("order", list(permutations(["sent", "delivered", "read"])))
def test_any_order_one_by_one_ends_read_with_every_time(world, order):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    seconds = {"sent": 1, "delivered": 2, "read": 3}

    for kind in order:
        apply(world, status(campaign_id, kind, seconds=seconds[kind]))

    row = world.row(campaign_id)
    assert row["status"] == "read"
    assert row["sent_at"] == NOW + timedelta(seconds=1)
    assert row["delivered_at"] == NOW + timedelta(seconds=2)
    assert row["read_at"] == NOW + timedelta(seconds=3)


def test_a_status_that_comes_twice_keeps_its_first_time(world):
    campaign_id, _ = world.sending()

    apply(world, status(campaign_id, "sent", seconds=1))
    apply(world, status(campaign_id, "sent", seconds=9), status(campaign_id, "sent", seconds=5))

    assert world.row(campaign_id)["sent_at"] == NOW + timedelta(seconds=1)
    assert world.counters_equal_rows()


def test_read_without_delivered_counts_as_read(world):
    campaign_id, _ = world.sending()

    apply(world, status(campaign_id, "sent"), status(campaign_id, "read", seconds=4))

    row = world.row(campaign_id)
    assert (row["status"], row["delivered_at"]) == ("read", None)


def test_failed_after_sent_fails_and_a_late_sent_does_not_clear_it(world):
    campaign_id, _ = world.sending()

    apply(world, status(campaign_id, "sent"))
    apply(world, status(campaign_id, "failed", seconds=2, errors=[{"code": 131026}]))
    apply(world, status(campaign_id, "sent", seconds=3))

    row = world.row(campaign_id)
    assert (row["status"], row["error_code"]) == ("failed", 131026)


def test_failed_never_covers_delivered_and_delivered_covers_failed(world):
    campaign_id, _ = world.sending()

    apply(world, status(campaign_id, "failed", seq=1, errors=[{"code": 131000}]))
    apply(world, status(campaign_id, "delivered", seq=1))
    apply(world, status(campaign_id, "delivered", seq=2))
    apply(world, status(campaign_id, "failed", seq=2, errors=[{"code": 131000}]))

    assert world.row(campaign_id, 1)["status"] == "delivered"
    assert world.row(campaign_id, 2)["status"] == "delivered"
    assert world.row(campaign_id, 2)["error_code"] is None


MARKETING = {"category": "marketing", "type": "regular"}
SERVICE = {"category": "service", "type": "free_customer_service"}


def pricing_in(world, campaign_id):
    code = world.row(campaign_id)["pricing"]
    return None if code is None else Pricing.of(code)


def test_the_price_that_was_told_first_stays(world):
    campaign_id, _ = world.sending()

    apply(world, status(campaign_id, "sent", pricing=MARKETING))
    apply(world, status(campaign_id, "delivered", seconds=1, pricing=SERVICE))
    apply(world, status(campaign_id, "read", seconds=2))

    assert pricing_in(world, campaign_id) == Pricing("marketing", billable=True)


def test_a_price_that_is_told_late_is_kept_too(world):
    campaign_id, _ = world.sending()

    apply(world, status(campaign_id, "sent"))
    apply(world, status(campaign_id, "delivered", seconds=1, pricing=SERVICE))

    assert pricing_in(world, campaign_id) == Pricing("service", billable=False)


def test_the_price_of_an_attempt_that_failed_is_not_that_of_the_next(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    apply(world, status(campaign_id, "sent", pricing=MARKETING), failed(campaign_id, 131049))
    later = NOW + timedelta(days=4)
    world.queue(campaign_id, now=later)
    (second,) = world.claim(campaign_id, [1], now=later)
    record(world, second, Accepted("wamid.B"))

    apply(world, status(campaign_id, "delivered", attempt=2, pricing=SERVICE))

    assert pricing_in(world, campaign_id) == Pricing("service", billable=False)


def test_an_orphan_brings_its_price_along(world):
    campaign_id, (first, *_) = world.sending()
    stranger = status(campaign_id, "delivered", pricing=MARKETING)
    del stranger["opaque"]
    apply(world, stranger)
    record(world, first, Accepted("wamid.A"))

    (orphan,) = world.statuses.orphans(limit=10)
    update = matched(orphan, world.statuses.resolve(["wamid.A"])["wamid.A"])
    world.statuses.apply([update], retries={}, failures=[], now=NOW)

    assert pricing_in(world, campaign_id) == Pricing("marketing", billable=True)


@pytest.mark.parametrize("kind", ["sent", "failed"])
def test_a_status_settles_an_unknown_row(world, kind):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Unknown("read timeout"))

    apply(world, status(campaign_id, kind))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["due_at"]) == ("done", kind, None)


def test_a_status_of_an_earlier_attempt_changes_nothing(world):
    campaign_id, (first, *_) = world.sending(unknown_policy="resend", unknown_window_seconds=60)
    record(world, first, Unknown("read timeout"))
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    late = NOW + timedelta(minutes=2)
    assert world.reconciliations.settle_unknown(campaign, now=late, limit=10) == ["pending"]
    world.queue(campaign_id, now=late)
    (second,) = world.claim(campaign_id, [1], now=late)
    assert second.attempt == 2

    applied = apply(world, status(campaign_id, "read", attempt=1))

    assert applied.reached == 0
    assert world.row(campaign_id)["state"] == "sending"


def test_a_status_that_comes_before_the_resend_prevents_it(world):
    campaign_id, (first, *_) = world.sending(unknown_policy="resend", unknown_window_seconds=60)
    record(world, first, Unknown("read timeout"))
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    late = NOW + timedelta(minutes=2)
    world.reconciliations.settle_unknown(campaign, now=late, limit=10)
    world.queue(campaign_id, now=late)

    apply(world, status(campaign_id, "sent", attempt=1))

    assert world.claim(campaign_id, [1], now=late) == ()
    assert world.row(campaign_id)["state"] == "done"


def test_a_status_of_another_installation_is_counted_and_harmless(world):
    applied = apply(world, status(2_000_000_000, "sent"))

    assert (applied.updates, applied.reached) == (1, 0)


def test_a_status_without_our_id_finds_its_row_by_the_wamid(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    stranger = status(campaign_id, "failed", errors=[{"code": 131026}])
    del stranger["opaque"]

    apply(world, stranger)

    assert world.row(campaign_id)["status"] == "failed"


def test_a_status_without_our_id_waits_for_its_wamid(world, clock):
    _campaign_id, (first, *_) = world.sending()
    world.statuses.keep_orphans(
        [UnmatchedStatus("wamid.A", Status.DELIVERED, NOW, None)] * 2, now=NOW
    )
    assert world.statuses.orphans(limit=10) == []

    record(world, first, Accepted("wamid.A"))

    (orphan,) = world.statuses.orphans(limit=10)
    assert orphan.status is Status.DELIVERED


def test_one_poison_message_holds_nobody_else(world):
    campaign_id, _ = world.sending()

    class Fragile:
        def __getattr__(self, name):
            return getattr(world.statuses, name)

        def apply(self, updates, **more):
            if any(update.seq == 2 for update in updates):
                raise ValueError("poison")
            return world.statuses.apply(updates, **more)

    messages = {str(seq): [status(campaign_id, "sent", seq=seq)] for seq in (1, 2, 3)}

    written, failures = write_split(
        messages, writer=writer(world, Fragile()), fatal=ConnectionError
    )

    assert set(failures) == {"2"}
    assert sum(one.reached for one in written) == 2
    assert world.row(campaign_id, 3)["status"] == "sent"
    assert Key(campaign_id, 2)


def failed(campaign_id, code, *, seq=1, attempt=1, details="", number=NUMBER):
    return status(
        campaign_id,
        "failed",
        seq=seq,
        attempt=attempt,
        seconds=1,
        number=number,
        errors=[{"code": code, "details": details}],
    )


def test_a_failure_that_may_pass_is_tried_again_as_another_attempt(world, database):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))

    written = apply(world, failed(campaign_id, 131049, details="healthy ecosystem"))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["attempt"]) == ("pending", "failed", 1)
    assert row["due_at"] >= NOW + timedelta(hours=24)
    assert written.again == 1
    assert database.fetch("SELECT code, details FROM delivery_error") == [
        (131049, "healthy ecosystem")
    ]
    later = NOW + timedelta(days=4)
    world.queue(campaign_id, now=later)
    (second,) = world.claim(campaign_id, [1], now=later)
    row = world.row(campaign_id)
    assert second.attempt == 2
    assert (row["status"], row["sent_at"]) == ("none", None)
    assert world.counters_equal_rows()


def test_a_late_status_of_the_failed_attempt_does_not_stop_the_next_one(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    apply(world, failed(campaign_id, 131049))

    apply(world, status(campaign_id, "sent"), failed(campaign_id, 131049, seq=2))
    apply(world, failed(campaign_id, 131049))

    row = world.row(campaign_id)
    assert (row["state"], row["status"]) == ("pending", "failed")
    assert row["due_at"] is not None


def test_an_acceptance_that_is_recorded_after_the_failure_leaves_the_retry(world):
    campaign_id, (claimed,) = world.sending(1)
    apply(world, failed(campaign_id, 131000))
    due_at = world.row(campaign_id)["due_at"]

    record(world, claimed, Accepted("wamid.A"))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["due_at"]) == ("pending", "failed", due_at)
    assert row["accepted_at"] is not None
    assert world.statuses.resolve(["wamid.A"]) == {"wamid.A": (campaign_id, 1, 1)}
    assert world.counters_equal_rows()


def test_a_message_that_was_delivered_after_all_is_not_sent_again(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    apply(world, failed(campaign_id, 131049))

    apply(world, status(campaign_id, "delivered", seconds=9))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["due_at"]) == ("done", "delivered", None)


def test_a_failure_after_the_last_attempt_is_the_end(world):
    campaign_id, (first, *_) = world.sending(max_attempts=1)
    record(world, first, Accepted("wamid.A"))

    apply(world, failed(campaign_id, 131049))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["due_at"]) == ("done", "failed", None)


def test_a_failure_reopens_a_campaign_that_seemed_to_be_over(world):
    campaign_id, rows = world.sending()
    for row in rows:
        record(world, row, Accepted(f"wamid.{row.key.seq}"))
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    assert world.reconciliations.finish(campaign, now=NOW)

    apply(world, failed(campaign_id, 131000))

    report = world.reports.campaign("reminder")
    assert (report["state"], report["finished_at"]) == ("running", None)


def test_a_cancelled_campaign_is_not_tried_again(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    world.orders.command_campaign("reminder", state="cancelled", reason=None)

    apply(world, failed(campaign_id, 131049))

    assert world.row(campaign_id)["state"] == "done"


def test_messages_that_pacing_dropped_pause_their_campaign_and_wait_for_it(world):
    campaign_id, rows = world.sending()
    for row in rows:
        record(world, row, Accepted(f"wamid.{row.key.seq}", held=True))

    written = apply(world, *(failed(campaign_id, 132015, seq=seq) for seq in (1, 2, 3)))

    assert written.stops == 1
    assert world.reports.campaign("reminder")["state"] == "paused"
    assert world.states(campaign_id) == {"pending": 3}


@pytest.mark.parametrize(("code", "paused"), [(131048, 1), (131042, 2)])
def test_a_failure_of_the_number_or_the_account_pauses_it(world, database, code, paused):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))

    apply(world, failed(campaign_id, code))

    found = database.fetch("SELECT count(*) FROM number WHERE paused_until > %s", (NOW,))
    assert found == [(paused,)]
    assert world.row(campaign_id)["state"] == "pending"


def test_a_code_that_nobody_knows_is_final_and_told(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))

    written = apply(world, failed(campaign_id, 139999))

    assert written.unrecognised == {139999}
    assert world.row(campaign_id)["state"] == "done"


def test_a_status_that_the_person_stopped_marketing_suppresses_them(world):
    campaign_id, rows = world.sending()

    apply(world, failed(campaign_id, 131050, seq=2), failed(campaign_id, 131026, seq=3))

    keys = [match_key(row.address) for row in rows]
    assert world.suppressions.suppressed(keys, marketing=True) == {keys[1]}


def test_a_claim_that_is_undone_does_not_forget_that_the_attempt_before_it_failed(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    apply(world, failed(campaign_id, 131049))
    later = NOW + timedelta(days=4)
    world.queue(campaign_id, now=later)
    (second,) = world.claim(campaign_id, [1], now=later)
    world.claims.record([handed_back(second, due_at=later)], now=later, patience_seconds=1)

    apply(world, status(campaign_id, "sent"))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["attempt"]) == ("pending", "failed", 1)
    assert world.counters_equal_rows()


def test_a_new_attempt_keeps_nothing_of_the_failed_one(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    apply(world, failed(campaign_id, 131049))
    later = NOW + timedelta(days=4)
    world.queue(campaign_id, now=later)
    (second,) = world.claim(campaign_id, [1], now=later)

    apply(world, status(campaign_id, "sent", attempt=2, seconds=400_000))
    record(world, second, Accepted("wamid.B"))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["failed_at"]) == ("done", "sent", None)


def test_a_failure_that_is_brought_again_later_stops_nothing(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    apply(world, failed(campaign_id, 132015))
    world.orders.command_campaign("reminder", state="running", reason=None)
    late = StatusWriter(
        statuses=world.statuses,
        stops=world.stops,
        clock=SetClock(NOW + timedelta(hours=1)),
        dice=lambda: 0.5,
    )

    written = late.write([failed(campaign_id, 132015)])

    assert written.stops == 0
    assert world.reports.campaign("reminder")["state"] == "running"

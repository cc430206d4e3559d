"""A message of which nothing more is heard was dropped; whatever comes after all still counts."""

import json
from datetime import timedelta

import pytest

from sluice.adapters.postgres import silences
from sluice.domain.aftermath import Attempt, Failure
from sluice.domain.delivery import Status, StatusUpdate
from sluice.domain.direct import direct_send
from sluice.domain.outcomes import Accepted, Failed, Unknown
from sluice.domain.requests import SendRequest, request_hash
from sluice.domain.results import result_of
from sluice.domain.silence import TIME_TO_LIVE_DEFAULT, time_to_live
from sluice.steps.reconcile import reconcile
from tests.conftest import NOW, NUMBER, TEMPLATE
from tests.integration.postgres.test_plans import explain, read

TIME_TO_LIVE = timedelta(days=1)
OVER = NOW + TIME_TO_LIVE + timedelta(hours=2)


def run(world, clock, now):
    clock.moment = now
    return reconcile(
        reconciliations=world.reconciliations,
        statuses=world.statuses,
        stages=world.stages,
        silences=world.silences,
        limits=world.limits,
        frequency_cap=None,
        dice=lambda: 0.5,
        clock=clock,
        deadline=clock.monotonic() + 60,
    )


def sent(world, *outcomes, **changes):
    """A campaign, with what the request to each of its people came to."""
    changes = {"time_to_live_seconds": 86_400, **changes}
    campaign_id, rows = world.sending(len(outcomes), **changes)
    record(world, rows, outcomes)
    return campaign_id


def record(world, rows, outcomes, now=NOW):
    policy = world.claims.policy(rows[0].key.campaign_id)
    results = [
        result_of(row, outcome, policy, now=now, dice=0.5)
        for row, outcome in zip(rows, outcomes, strict=True)
    ]
    world.claims.record(results, now=now, patience_seconds=1)


def told(world, campaign_id, seq, status, at=NOW):
    moments = [at if one is status else None for one in
               (Status.SENT, Status.DELIVERED, Status.READ, Status.FAILED)]  # fmt: skip
    code = 131026 if status is Status.FAILED else None
    update = StatusUpdate(campaign_id, seq, 1, status, *moments, code, f"wamid.{seq}")
    world.statuses.apply([update], retries={}, failures=[], now=at)


def statuses(world, campaign_id):
    rows = world.database.fetch(
        "SELECT status::text FROM delivery WHERE campaign_id = %s ORDER BY seq", (campaign_id,)
    )
    return [status for (status,) in rows]


def test_a_message_of_which_nothing_is_heard_expires_after_its_time_to_live(world, clock):
    held = Accepted("wamid.3", held=True)
    campaign_id = sent(world, Accepted("wamid.1"), Accepted("wamid.2"), held)
    told(world, campaign_id, 2, Status.SENT)
    assert run(world, clock, NOW).finished == [campaign_id]

    assert run(world, clock, NOW + TIME_TO_LIVE).silent == 0
    assert run(world, clock, OVER).silent == 3

    assert statuses(world, campaign_id) == ["expired"] * 3
    assert world.states(campaign_id) == {"done": 3}
    assert world.counters_equal_rows()


def test_what_was_heard_of_is_left_alone(world, clock):
    outcomes = [*(Accepted(f"wamid.{seq}") for seq in (1, 2, 3)), Failed(131026, "no"), Unknown("")]
    campaign_id = sent(world, *outcomes)
    for seq, status in enumerate((Status.DELIVERED, Status.READ, Status.FAILED), start=1):
        told(world, campaign_id, seq, status)
    run(world, clock, NOW + timedelta(minutes=20))

    assert run(world, clock, OVER).silent == 0
    assert statuses(world, campaign_id) == ["delivered", "read", "failed", "none", "none"]


@pytest.mark.parametrize(
    ("status", "stands"),
    [
        (Status.SENT, "expired"),
        (Status.FAILED, "failed"),
        (Status.DELIVERED, "delivered"),
        (Status.READ, "read"),
    ],
)
def test_what_meta_says_after_all_wins(world, clock, status, stands):
    campaign_id = sent(world, Accepted("wamid.1"))
    run(world, clock, NOW)
    run(world, clock, OVER)

    told(world, campaign_id, 1, status, at=OVER)

    assert statuses(world, campaign_id) == [stands]


def test_a_campaign_is_walked_once_by_pages_that_go_on_where_the_last_one_ended(world, clock):
    campaign_id = sent(world, *(Accepted(f"wamid.{seq}") for seq in range(1, 6)))
    run(world, clock, NOW)

    for expired in (2, 2, 1):
        (unswept,) = world.silences.unswept(now=OVER)
        passed = world.silences.sweep(unswept, now=OVER, limit=2)
        again = world.silences.sweep(unswept, now=OVER, limit=2)
        assert (passed.expired, again.expired) == (expired, 0)

    assert world.silences.unswept(now=OVER) == []
    assert statuses(world, campaign_id) == ["expired"] * 5


def test_a_campaign_that_is_open_again_is_walked_again(world, clock):
    campaign_id = sent(world, Accepted("wamid.1"))
    run(world, clock, NOW)
    run(world, clock, OVER)
    assert world.silences.unswept(now=OVER) == []

    attempt = Attempt(campaign_id, 1, 1)
    update = StatusUpdate(*attempt, Status.FAILED, None, None, None, OVER, 131049, "wamid.1")
    failure = Failure(attempt, NUMBER, 131049, "later", OVER)
    world.statuses.apply([update], retries={attempt: OVER}, failures=[failure], now=OVER)
    assert statuses(world, campaign_id) == ["failed"]
    world.queue(campaign_id, now=OVER)
    record(world, world.claim(campaign_id, [1], now=OVER), [Accepted("wamid.9")], OVER)

    assert run(world, clock, OVER).silent == 0
    assert run(world, clock, OVER + TIME_TO_LIVE + timedelta(hours=2)).silent == 1
    assert statuses(world, campaign_id) == ["expired"]


def direct(world, name, now):
    request = SendRequest.model_validate_json(json.dumps({
        "id": name, "phone_number_id": NUMBER, "lane": "conversation", "template": TEMPLATE,
        "recipients": [{"address": "+4915155000001", "parameters": {"name": "Ada"}}],
    }))  # fmt: skip
    content = direct_send(request, phone_number_id=NUMBER, lane="conversation")
    keys = world.campaigns.store_direct(
        request, content, request_hash=request_hash(request), now=now
    )
    rows = world.claims.claim(keys, now=now, lease=now + timedelta(seconds=60)).rows
    record(world, rows, [Accepted(f"wamid.{name}")], now)
    return keys[0].campaign_id


def test_direct_sends_are_walked_behind_their_newest_ones(world, clock):
    later = NOW + timedelta(days=10)
    campaign_id = direct(world, "first", NOW)
    direct(world, "second", later)
    over = NOW + TIME_TO_LIVE_DEFAULT + timedelta(hours=2)

    assert run(world, clock, over).silent == 1
    assert statuses(world, campaign_id) == ["expired", "accepted"]
    assert world.silences.unswept(now=over) == []
    assert run(world, clock, over + timedelta(days=10)).silent == 1


def test_meta_tries_ten_minutes_for_authentication_and_thirty_days_for_the_others():
    assert time_to_live(None, "authentication") == timedelta(minutes=10)
    assert time_to_live(None, "marketing") == time_to_live(None, "utility") == timedelta(days=30)
    assert time_to_live(43_200, "marketing") == timedelta(hours=12)


def test_a_page_reads_its_rows_by_the_primary_key_and_is_hot(world, database):
    campaign_id = world.campaign(60_000)
    database.fetch(
        "UPDATE delivery SET state = 'done', status = 'sent', sent_at = %s, due_at = NULL", (NOW,)
    )
    database.fetch("VACUUM (FULL, ANALYZE) delivery")
    parameters = {"campaign_id": campaign_id, "after": 30_000, "limit": 1_000, "now": OVER,
                  "left_before": OVER}  # fmt: skip

    found = explain(database, silences.SWEEP, parameters)
    assert read(found) <= 4 * 1_000

    def updates(connection):
        connection.execute("SELECT pg_stat_force_next_flush()")
        return connection.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
            " WHERE relname = 'delivery_shared'"
        ).fetchone()

    before = database.run(updates)
    database.fetch(silences.SWEEP, parameters)
    after = database.run(updates)
    assert [new - old for new, old in zip(after, before, strict=True)] == [1_000, 1_000]

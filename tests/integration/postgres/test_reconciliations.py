"""What died in the middle is come back to; what is over ends."""

import json
import threading
import time
from datetime import timedelta

import psycopg
import pytest

from sluice.adapters.postgres.reconciliations import Reconciliations
from sluice.domain.audience import Position
from sluice.domain.delivery import Status, UnmatchedStatus
from sluice.domain.outcomes import Accepted, Unknown
from sluice.domain.requests import CampaignRequest
from sluice.domain.results import result_of
from sluice.steps.reconcile import reconcile
from tests.conftest import NOW, NUMBER, OTHER_NUMBER, TEMPLATE, connect


def run(world, clock):
    return reconcile(
        reconciliations=world.reconciliations,
        statuses=world.statuses,
        stages=world.stages,
        silences=world.silences,
        limits=world.limits,
        frequency_cap=None,
        clock=clock,
        dice=lambda: 0.5,
        deadline=clock.monotonic() + 60,
    )


def record(world, claimed, outcome, now):
    policy = world.claims.policy(claimed.key.campaign_id)
    result = result_of(claimed, outcome, policy, now=now, dice=0.5)
    world.claims.record([result], now=now, patience_seconds=1)


def test_a_queued_row_whose_chunk_is_lost_is_pending_again(world, clock):
    campaign_id = world.campaign(numbers=[NUMBER, OTHER_NUMBER])
    world.queue(campaign_id)
    clock.advance(901)

    done = run(world, clock)

    assert done.changes == {"requeued": 3}
    assert done.wake
    assert world.row(campaign_id)["phone_number_id"] is None
    assert world.counters_equal_rows()


def test_a_queued_row_is_left_alone_until_then(world, clock):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    clock.advance(890)

    assert run(world, clock).changes == {}
    assert world.states(campaign_id) == {"queued": 3}


def test_a_row_of_a_sender_that_was_killed_becomes_unknown(world, clock):
    campaign_id, _ = world.sending()
    clock.advance(61)

    done = run(world, clock)

    assert done.changes == {"doubted": 3}
    assert not done.wake
    assert world.states(campaign_id) == {"unknown": 3}


@pytest.mark.parametrize(
    ("policy", "state", "change"),
    [("resend", "pending", "resent"), ("leave", "unknown", "left")],
)
def test_an_unknown_row_that_stays_silent_follows_the_policy(world, clock, policy, state, change):
    campaign_id, (first, *_) = world.sending(unknown_policy=policy, unknown_window_seconds=60)
    record(world, first, Unknown("read timeout"), clock.now())
    clock.advance(61)

    done = run(world, clock)

    assert done.changes[change] == 1
    assert world.row(campaign_id)["state"] == state


def test_an_unknown_row_is_not_resent_for_ever(world, clock):
    campaign_id, (first, *_) = world.sending(
        unknown_policy="resend", unknown_window_seconds=60, max_attempts=1
    )
    record(world, first, Unknown("read timeout"), clock.now())
    clock.advance(61)

    assert run(world, clock).changes["exhausted"] == 1
    row = world.row(campaign_id)
    assert (row["state"], row["due_at"]) == ("failed", None)


def test_a_campaign_finishes_when_every_row_is_final(world, clock):
    campaign_id, rows = world.sending()
    record(world, rows[0], Accepted("wamid.A"), clock.now())
    assert run(world, clock).finished == []
    for row in rows[1:]:
        record(world, row, Accepted(f"wamid.{row.key.seq}"), clock.now())

    assert run(world, clock).finished == [campaign_id]
    assert world.reports.campaign("reminder")["state"] == "finished"


def test_a_campaign_whose_unknown_rows_are_left_finishes(world, clock):
    campaign_id, rows = world.sending(unknown_window_seconds=60)
    for row in rows:
        record(world, row, Unknown("read timeout"), clock.now())
    clock.advance(61)

    assert run(world, clock).finished == [campaign_id]


def test_waiting_rows_of_a_cancelled_campaign_end_and_sent_ones_stay(world, clock):
    campaign_id = world.campaign(4)
    world.queue(campaign_id, 2)
    world.claim(campaign_id, [1])
    world.orders.command_campaign("reminder", state="cancelled", reason="wrong text")

    done = run(world, clock)

    assert done.changes == {"cancelled": 3}
    assert world.states(campaign_id) == {"sending": 1, "cancelled": 3}
    assert world.counters_equal_rows()


def test_waiting_rows_of_an_expired_campaign_end(world, clock):
    campaign_id = world.campaign(2, expires_at="2026-03-01T09:10:00Z")
    clock.advance(601)

    done = run(world, clock)

    assert done.changes == {"expired": 2}
    assert done.finished == [campaign_id]


def test_a_cancelled_campaign_ends_and_is_not_looked_at_again(world, clock):
    campaign_id = world.campaign(2)
    world.orders.command_campaign("reminder", state="cancelled", reason="wrong text")

    done = run(world, clock)

    assert done.finished == [campaign_id]
    assert world.reports.campaign("reminder")["state"] == "cancelled"
    assert world.reconciliations.open_campaigns(now=clock.now()) == []


def test_a_campaign_does_not_end_while_a_segment_of_its_audience_is_on_its_way_in(
    world, database_url
):
    campaign_id = world.campaign(1)
    world.database.fetch("UPDATE delivery SET state = 'done', due_at = NULL")
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    ended = []
    other = connect(database_url)

    def end():
        ended.append(Reconciliations(other).finish(campaign, now=NOW))

    with psycopg.connect(database_url) as loader:
        loader.execute("SELECT FROM campaign WHERE campaign_id = %s FOR UPDATE", (campaign_id,))
        thread = threading.Thread(target=end)
        thread.start()
        time.sleep(0.5)
        assert ended == []
        loader.execute(
            "INSERT INTO delivery (campaign_id, seq, state, due_at)"
            " VALUES (%s, 9, 'pending', now())",
            (campaign_id,),
        )
    thread.join()
    other.close()

    assert ended == [False]


def test_a_campaign_that_is_cancelled_while_it_loads_loads_no_further(world):
    request = CampaignRequest.model_validate_json(
        json.dumps(
            {
                "campaign": "early",
                "template": TEMPLATE,
                "numbers": [NUMBER],
                "audience": {"s3": "s3://audiences/people.csv"},
            }
        )
    )
    stored = world.campaigns.create(request, request_hash="hash", now=NOW)
    world.orders.command_campaign("early", state="cancelled", reason=None)

    assert not world.loads.store(
        stored.campaign_id, [], start=Position(), end=Position(9, 9), etag="etag"
    )


def test_a_paused_campaign_does_not_finish(world, clock):
    world.campaign(1)
    world.orders.command_campaign("reminder", state="paused", reason=None)

    assert run(world, clock).finished == []


def test_what_has_ended_does_not_start_again(world):
    world.campaign(1)
    world.orders.command_campaign("reminder", state="cancelled", reason="wrong")

    assert world.orders.command_campaign("reminder", state="running", reason=None) == "cancelled"


def test_an_orphan_is_adopted_when_its_wamid_is_known(world, clock):
    campaign_id, (first, *_) = world.sending()
    orphan = UnmatchedStatus("wamid.A", Status.DELIVERED, clock.now(), None)
    world.statuses.keep_orphans([orphan], now=clock.now())
    assert run(world, clock).orphans == 0

    record(world, first, Accepted("wamid.A"), clock.now())

    assert run(world, clock).orphans == 1
    assert world.row(campaign_id)["status"] == "delivered"
    assert run(world, clock).orphans == 0


def test_an_orphan_that_tells_a_failure_which_may_pass_is_tried_again(world, clock, database):
    campaign_id, (first, *_) = world.sending()
    orphan = UnmatchedStatus("wamid.A", Status.FAILED, clock.now(), 131049)
    world.statuses.keep_orphans([orphan], now=clock.now())
    record(world, first, Accepted("wamid.A"), clock.now())

    run(world, clock)

    row = world.row(campaign_id)
    assert (row["state"], row["status"]) == ("pending", "failed")
    assert row["due_at"] >= clock.now() + timedelta(hours=24)
    assert database.fetch("SELECT code, details FROM delivery_error") == [(131049, "")]


def test_an_orphan_that_is_nobodys_is_forgotten_after_a_week(world, clock, database):
    orphan = UnmatchedStatus("wamid.X", Status.SENT, clock.now(), None)
    world.statuses.keep_orphans([orphan], now=clock.now())
    clock.advance(timedelta(days=8).total_seconds())

    run(world, clock)

    assert database.fetch("SELECT count(*) FROM orphan_status") == [(0,)]

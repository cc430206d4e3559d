"""Claims and records: at-least-once queues become at-most-once sends."""

import threading
from datetime import timedelta

import psycopg
import pytest

from sluice.adapters.postgres.claims import Claims, NumberUnknownError
from sluice.domain.claim import Key
from sluice.domain.clock import FOREVER
from sluice.domain.outcomes import Accepted, Failed, PauseCampaign, Retry, Throttled, Unknown
from sluice.domain.results import handed_back, result_of
from sluice.domain.suppressions import match_key
from tests.conftest import NOW, NUMBER, OTHER_NUMBER, connect

LATER = NOW + timedelta(seconds=30)
RETRY = Retry(131000, "try later", after_seconds=5, base_seconds=1, cap_seconds=60)


def record(world, claimed, outcome, now=NOW):
    policy = world.claims.policy(claimed.key.campaign_id)
    result = result_of(claimed, outcome, policy, now=now, dice=0.5)
    world.claims.record([result], now=now, patience_seconds=1)
    return result


def test_a_claimed_row_brings_what_is_sent(world):
    campaign_id, (first, *_) = world.sending()

    assert first.key == Key(campaign_id, 1)
    assert first.attempt == 1
    assert first.address == "+4915155000001"
    assert first.parameters == {"name": "Person 1"}
    assert world.row(campaign_id)["state"] == "sending"


def test_a_chunk_delivered_twice_claims_once(world):
    campaign_id, first = world.sending()

    assert len(first) == 3
    assert world.claim(campaign_id, now=LATER) == ()


def test_chunks_delivered_in_parallel_claim_each_row_once(world, database_url):
    campaign_id = world.campaign(200)
    world.queue(campaign_id, 200)
    keys = [Key(campaign_id, seq) for seq in range(1, 201)]
    claimed: list[Key] = []
    start = threading.Barrier(6)

    def claim(number):
        database = connect(database_url)
        claims = Claims(database, phone_number_id=NUMBER, lane="bulk")
        start.wait()
        lease = NOW + timedelta(seconds=60, microseconds=number)
        claimed.extend(row.key for row in claims.claim(keys, now=NOW, lease=lease).rows)
        database.close()

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(claimed) == keys
    assert world.counters_equal_rows()


def test_a_claim_whose_answer_was_lost_is_claimed_again_by_its_lease(world):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    keys = [Key(campaign_id, seq) for seq in (1, 2, 3)]
    lease = NOW + timedelta(seconds=60.123456)

    first = world.claims.claim(keys, now=NOW, lease=lease)
    again = world.claims.claim(keys, now=NOW, lease=lease)

    assert again == first
    assert world.row(campaign_id)["attempt"] == 1


def test_another_number_cannot_claim_the_row(world, database):
    campaign_id = world.campaign()
    world.queue(campaign_id)

    stranger = Claims(database, phone_number_id=OTHER_NUMBER, lane="bulk")

    assert stranger.claim([Key(campaign_id, 1)], now=NOW, lease=LATER).rows == ()


def test_a_number_that_is_not_configured_is_an_error(world, database):
    with pytest.raises(NumberUnknownError, match="999"):
        Claims(database, phone_number_id="999", lane="bulk").claim(
            [Key(1, 1)], now=NOW, lease=LATER
        )


def test_a_paused_number_claims_nothing_and_says_until_when(world):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    world.orders.pause_number(NUMBER, until=LATER, reason="130429")

    claim = world.claims.claim([Key(campaign_id, 1)], now=NOW, lease=LATER)

    assert claim.rows == ()
    assert claim.paused_until == LATER
    assert world.row(campaign_id)["state"] == "queued"
    assert world.claims.claim([Key(campaign_id, 1)], now=LATER, lease=FOREVER).rows


@pytest.mark.parametrize(
    ("command", "state", "open_"),
    [("paused", "pending", True), ("cancelled", "cancelled", False)],
)
def test_a_queued_row_of_a_stopped_campaign_is_put_away(world, command, state, open_):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    world.orders.command_campaign("reminder", state=command, reason=None)

    assert world.claim(campaign_id) == ()

    row = world.row(campaign_id)
    assert row["state"] == state
    assert (row["due_at"] is not None) is open_
    assert row["attempt"] == 0
    assert world.counters_equal_rows()


def test_a_queued_row_of_an_expired_campaign_expires(world):
    campaign_id = world.campaign(expires_at="2026-03-01T09:00:20Z")
    world.queue(campaign_id)

    assert world.claim(campaign_id, now=LATER) == ()
    assert world.row(campaign_id)["state"] == "expired"


def test_an_accepted_row_is_done_and_its_wamid_finds_it(world):
    campaign_id, (first, *_) = world.sending()

    record(world, first, Accepted("wamid.A"))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["accepted_at"]) == ("done", "accepted", NOW)
    assert world.statuses.resolve(["wamid.A"]) == {"wamid.A": (campaign_id, 1, 1)}
    assert world.counters_equal_rows()


def test_a_held_message_has_a_status_of_its_own(world):
    campaign_id, (first, *_) = world.sending()

    record(world, first, Accepted("wamid.A", held=True))

    assert world.row(campaign_id)["status"] == "held"


def test_a_retry_waits_and_burns_the_attempt(world):
    campaign_id, (first, *_) = world.sending()

    record(world, first, RETRY)

    row = world.row(campaign_id)
    assert (row["state"], row["attempt"], row["error_code"]) == ("pending", 1, 131000)
    assert row["due_at"] >= NOW + timedelta(seconds=5)
    assert row["phone_number_id"] is None


def test_a_retry_after_the_last_attempt_has_failed(world):
    campaign_id, (first, *_) = world.sending(max_attempts=1)

    record(world, first, RETRY)

    row = world.row(campaign_id)
    assert (row["state"], row["due_at"], row["error_code"]) == ("failed", None, 131000)


@pytest.mark.parametrize(
    "outcome", [Throttled(130429, "slow", 3.0), PauseCampaign(132001, "no template")]
)
def test_waiting_for_the_number_or_the_campaign_burns_no_attempt(world, outcome):
    campaign_id, (first, *_) = world.sending()

    record(world, first, outcome)

    row = world.row(campaign_id)
    assert (row["state"], row["attempt"]) == ("pending", 0)


def test_a_final_failure_keeps_its_code_and_words(world, database):
    campaign_id, (first, *_) = world.sending()

    record(world, first, Failed(131026, "Message Undeliverable."))

    assert world.row(campaign_id)["state"] == "failed"
    assert database.fetch("SELECT seq, code, details FROM delivery_error") == [
        (1, 131026, "Message Undeliverable.")
    ]


def test_a_lost_answer_is_unknown_until_the_window_ends(world):
    campaign_id, (first, *_) = world.sending(unknown_window_seconds=60)

    record(world, first, Unknown("read timeout"))

    row = world.row(campaign_id)
    assert (row["state"], row["due_at"]) == ("unknown", NOW + timedelta(seconds=60))


def test_a_result_recorded_twice_changes_nothing(world):
    campaign_id, (first, *_) = world.sending()
    record(world, first, Accepted("wamid.A"))
    once = world.row(campaign_id)

    record(world, first, Accepted("wamid.A"), now=LATER)

    assert world.row(campaign_id) == once
    assert world.counters_equal_rows()


def test_an_undone_claim_recorded_again_does_not_undo_the_next_claim(world):
    campaign_id, (first, *_) = world.sending()
    undone = handed_back(first, due_at=NOW)
    world.claims.record([undone], now=NOW, patience_seconds=1)
    world.queue(campaign_id, now=LATER)
    (second,) = world.claim(campaign_id, [1], now=LATER)
    assert second.attempt == first.attempt

    world.claims.record([undone], now=LATER, patience_seconds=1)

    assert world.row(campaign_id)["state"] == "sending"


def test_an_acceptance_is_believed_even_after_the_lease_is_over(world):
    campaign_id, (first, *_) = world.sending()
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    late = NOW + timedelta(minutes=5)
    world.reconciliations.doubt_stuck(campaign, now=late, limit=10)
    assert world.row(campaign_id)["state"] == "unknown"

    record(world, first, Accepted("wamid.A"), now=late)

    assert world.row(campaign_id)["state"] == "done"


def test_a_refusal_after_the_lease_is_over_settles_nothing(world):
    campaign_id, (first, *_) = world.sending()
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    late = NOW + timedelta(minutes=5)
    world.reconciliations.doubt_stuck(campaign, now=late, limit=10)

    record(world, first, Failed(131026, "no"), now=late)

    assert world.row(campaign_id)["state"] == "unknown"


def test_released_rows_are_free_for_the_pool(world):
    campaign_id = world.campaign()
    world.queue(campaign_id)

    world.claims.release([Key(campaign_id, seq) for seq in (1, 2, 3)], now=NOW)

    row = world.row(campaign_id)
    assert (row["state"], row["phone_number_id"]) == ("pending", None)


def test_a_fixed_number_survives_a_release(world):
    campaign_id = world.campaign(fixed=NUMBER)
    world.queue(campaign_id)

    world.claims.release([Key(campaign_id, 1)], now=NOW)

    assert world.row(campaign_id)["phone_number_id"] == NUMBER


def test_a_connection_that_the_server_ends_is_opened_again(world, database_url):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    assert len(world.claim(campaign_id)) == 3


def test_an_answer_that_the_person_stopped_marketing_suppresses_them(world):
    _, (first, *_) = world.sending()

    record(world, first, Failed(131050, "User stopped marketing"))
    record(world, first, Failed(131050, "User stopped marketing"), now=LATER)

    key = match_key(first.address)
    assert world.suppressions.suppressed([key], marketing=True) == {key}
    assert world.suppressions.suppressed([key], marketing=False) == set()

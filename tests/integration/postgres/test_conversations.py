"""Who talks with which number, and what follows from it: for stops, for windows, for campaigns."""

from datetime import timedelta
from itertools import permutations

import pytest

from sluice.adapters.postgres import conversations, reconciliations
from sluice.adapters.postgres.suppressions import Refused, heed_refusals
from sluice.domain.aftermath import Attempt, Failure
from sluice.domain.claim import Key
from sluice.domain.clock import FOREVER
from sluice.domain.delivery import Status, StatusUpdate
from sluice.domain.inbound import Answered, Heard
from sluice.domain.limits import STAY_PATIENCE_SECONDS, WINDOW_MARGIN_SECONDS
from sluice.domain.outcomes import Failed
from sluice.domain.results import WINDOW_CLOSED, result_of
from sluice.domain.suppressions import Suppression
from tests.conftest import NOW, NUMBER, OTHER_NUMBER
from tests.integration.postgres.test_plans import assert_by_index, explain, large
from tests.integration.postgres.test_suppressions import is_suppressed, lift, send_direct, suppress

__all__ = ["large"]

FIRST = "+4915155000001"
USER = "DE.134"
DAY = timedelta(days=1)
POOL = {"numbers": [NUMBER, OTHER_NUMBER]}


def heard(*keys, at=NOW, number=NUMBER, context=None):
    return Heard(number, keys or (FIRST,), at, at + DAY, context)


def hear(world, *keys, **told):
    world.conversations.hear([heard(*keys, **told)], now=NOW)


def rows(world):
    """(key, number) to (last_inbound_at, open_until)."""
    query = "SELECT match_key, phone_number_id, last_inbound_at, open_until FROM conversation"
    return {(key, number): moments for key, number, *moments in world.database.fetch(query)}


@pytest.mark.parametrize("order", list(permutations([0, 1, 2])), ids=str)
def test_a_conversation_never_goes_backwards(world, order):
    for hours in (*order, *order):
        hear(world, at=NOW + timedelta(hours=hours))

    latest = NOW + timedelta(hours=2)
    assert rows(world) == {(FIRST, NUMBER): [latest, latest + DAY]}


def test_a_batch_is_one_row_for_each_key_and_number(world):
    world.conversations.hear([
        heard(FIRST, USER),
        heard(FIRST, USER, at=NOW + DAY),
        heard(FIRST, number=OTHER_NUMBER),
    ], now=NOW)  # fmt: skip

    assert {key: moments[0] for key, moments in rows(world).items()} == {
        (FIRST, NUMBER): NOW + DAY,
        (USER, NUMBER): NOW + DAY,
        (FIRST, OTHER_NUMBER): NOW,
    }


# How much a number hears.


def inbound(world, *, now=NOW):
    """Messages per second that a claim is told to leave to people."""
    claim = world.claims.claim([], now=now, lease=now)
    return claim.inbound_per_second


def listen(world, messages, *, at=NOW, now=NOW, number=NUMBER):
    said = [
        heard(f"+49151550{person:05d}", USER, at=at, number=number) for person in range(messages)
    ]
    world.conversations.hear(said, now=now)


def test_what_people_say_is_measured_for_the_number_that_hears_it(world):
    listen(world, 7, number=OTHER_NUMBER)
    assert inbound(world) == 0.0

    for second in range(60):
        moment = NOW + timedelta(seconds=second)
        listen(world, 20, at=moment, now=moment)

    assert inbound(world, now=moment) == pytest.approx(20.0, rel=0.1)
    assert inbound(world, now=moment + timedelta(minutes=2)) == pytest.approx(0.0, abs=0.01)


def test_what_comes_late_takes_nothing_from_the_rate_of_now(world):
    listen(world, 100, at=NOW - timedelta(hours=1))

    assert inbound(world) == 0.0


# Whose user id it is.


def test_a_stop_that_brings_only_a_user_id_reaches_the_phone_number(world):
    hear(world, FIRST, USER)

    suppress(world, USER)

    assert is_suppressed(world, FIRST)
    lift(world, USER)
    assert not is_suppressed(world, FIRST)


def test_a_stop_from_before_anybody_knew_whose_it_is_counts_once_that_is_known(world):
    suppress(world, USER)
    assert not is_suppressed(world, FIRST)

    hear(world, FIRST, USER)

    assert is_suppressed(world, FIRST)


def test_an_answer_to_a_message_of_ours_tells_whose_user_id_it_is(world):
    campaign_id, (claimed, *_) = world.sending()
    world.database.fetch(
        "INSERT INTO message VALUES (%s, %s, 1, 'wamid.1')", (campaign_id, claimed.key.seq)
    )

    hear(world, USER, context="wamid.1")
    hear(world, "DE.2", context="wamid.2")
    suppress(world, USER)

    assert is_suppressed(world, FIRST)


def test_a_status_of_our_message_tells_whose_user_id_it_is(world):
    campaign_id = world.campaign()

    for _ in range(2):
        world.statuses.learn({(campaign_id, 1): USER, (campaign_id, 99): "DE.2"})
    assert world.database.fetch("SELECT user_id, match_key, xmax = 0 FROM user_phone") == [
        (USER, FIRST, True)
    ], "learnt again, it is not even locked"
    suppress(world, USER)

    assert is_suppressed(world, FIRST)
    assert not is_suppressed(world, "+4915155000002")


def test_a_user_id_that_was_sent_to_itself_tells_nothing(world):
    campaign_id = world.campaign(1)
    world.database.fetch("UPDATE recipient SET match_key = %s", (USER,))

    world.statuses.learn({(campaign_id, 1): USER})

    assert world.database.fetch("SELECT count(*) FROM user_phone") == [(0,)]


@pytest.mark.parametrize(("old", "new"), [(FIRST, "+4915155000099"), (USER, "DE.99")])
def test_who_has_another_key_keeps_stops_and_conversations_under_both(world, old, new):
    suppress(world, old)
    hear(world, old)

    for _ in range(2):
        world.conversations.move([old], new)

    assert is_suppressed(world, old)
    assert is_suppressed(world, new)
    assert rows(world)[(new, NUMBER)] == [NOW, None]
    assert rows(world)[(old, NUMBER)] == [NOW, NOW + DAY]


def test_a_move_that_comes_late_takes_no_conversation_back(world):
    hear(world, FIRST)
    hear(world, "+4915155000099", at=NOW + DAY)

    world.conversations.move([FIRST], "+4915155000099")

    assert rows(world)[("+4915155000099", NUMBER)] == [NOW + DAY, NOW + 2 * DAY]


def test_a_new_user_id_stops_for_the_phone_number_too(world):
    hear(world, FIRST, USER)
    world.conversations.move([USER], "DE.99")

    suppress(world, "DE.99")

    assert is_suppressed(world, FIRST)


# Who could not be reached.


def strike(world, name, *, at=NOW, category="marketing"):
    """A campaign whose message to FIRST failed with error 131026."""
    campaign_id = world.campaign(1, name=name, category=category, now=at)
    fail(world, campaign_id, at)
    return campaign_id


def fail(world, campaign_id, at=NOW, code=131026):
    def work(connection):
        with connection.transaction():
            heed_refusals(connection, [Refused(campaign_id, 1, code, at)], now=at)

    world.database.run(work)


def test_the_third_campaign_that_cannot_reach_a_person_is_the_last(world):
    strike(world, "one")
    strike(world, "two", at=NOW + 9 * DAY)
    assert not is_suppressed(world)

    strike(world, "three", at=NOW + 29 * DAY)

    (one,) = world.in_force()
    assert one == Suppression(FIRST, "all", "undeliverable", "error 131026", NOW + 29 * DAY)


def test_answers_and_statuses_that_say_so_are_counted_alike(world):
    for name in ("one", "two"):
        campaign_id, (claimed,) = world.sending(1, name=name)
        failed = result_of(
            claimed,
            Failed(131026, "Message undeliverable"),
            world.claims.policy(campaign_id),
            now=NOW,
            dice=0.0,
        )
        world.claims.record([failed], now=NOW, patience_seconds=1.0)
    campaign_id, _ = world.sending(1, name="three")
    failure = Failure(Attempt(campaign_id, 1, 1), NUMBER, 131026, "undeliverable", NOW)
    update = StatusUpdate(
        campaign_id, 1, 1, Status.FAILED, None, None, None, NOW, 131026, "wamid.1"
    )

    for _ in range(2):
        world.statuses.apply([update], retries={}, failures=[failure], now=NOW)

    assert is_suppressed(world, marketing=False)


def test_failures_of_one_campaign_are_one(world):
    campaign_id = strike(world, "one")
    for _ in range(3):
        fail(world, campaign_id)

    assert not is_suppressed(world)


def test_failures_a_month_apart_are_forgotten(world):
    for days, name in enumerate(("one", "two", "three")):
        strike(world, name, at=NOW + 16 * days * DAY)

    assert not is_suppressed(world)


def test_a_direct_send_that_fails_is_no_strike(world):
    key, _ = send_direct(world, {"message": {"type": "text", "text": {"body": "Yes."}}})

    fail(world, key.campaign_id)

    assert world.database.fetch("SELECT count(*) FROM strike") == [(0,)]


def test_any_word_of_a_person_wipes_the_failures_and_lifts_the_suppression(world):
    for name in ("one", "two", "three"):
        strike(world, name)
    assert is_suppressed(world, marketing=False)

    hear(world, at=NOW + DAY)

    assert not is_suppressed(world)
    strike(world, "late", at=NOW)
    strike(world, "four", at=NOW + 2 * DAY)
    assert not is_suppressed(world)


def test_who_writes_by_user_id_is_reachable_by_phone(world):
    hear(world, FIRST, USER)
    for name in ("one", "two", "three"):
        strike(world, name, at=NOW + DAY)
    assert is_suppressed(world)

    hear(world, USER, at=NOW + 2 * DAY)

    assert not is_suppressed(world)


@pytest.mark.parametrize("said_at", [NOW - DAY, NOW + DAY], ids=["before", "after"])
def test_what_a_person_said_outlasts_a_word_that_lifts_a_guess(world, said_at):
    suppress_all = {"scope": "all", "reason": "asked in writing", "since": said_at}
    if said_at < NOW:
        suppress(world, **suppress_all)
    for name in ("one", "two", "three"):
        strike(world, name)
    if said_at > NOW:
        suppress(world, **suppress_all)

    hear(world, at=NOW + 2 * DAY)

    assert is_suppressed(world, marketing=False)
    (one,) = world.in_force()
    assert one.reason == "asked in writing"


# What a reply answers.


def test_a_reply_finds_its_campaign_or_its_direct_send(world):
    campaign_id = world.campaign()
    key, _ = send_direct(world, {"message": {"type": "text", "text": {"body": "Yes."}}})
    world.database.fetch(
        "INSERT INTO message VALUES (%s, 2, 1, 'wamid.1'), (%s, %s, 1, 'wamid.2')",
        (campaign_id, *key),
    )

    assert world.conversations.answered(["wamid.1", "wamid.2", "wamid.3"]) == {
        "wamid.1": Answered("reminder", campaign_id, 2, None),
        "wamid.2": Answered(None, *key, "one"),
    }


def test_replies_are_looked_up_by_the_index_of_wamids(large, database):
    database.fetch(
        "INSERT INTO message SELECT %s, seq, 1, 'wamid.' || seq FROM generate_series(1, 60000) seq",
        (large,),
    )
    database.fetch("ANALYZE message")

    found = explain(
        database, conversations.ANSWERED, {"wamids": [f"wamid.{seq}" for seq in range(1, 40)]}
    )

    tables = ("message_shared", "direct_send")
    scans = {node["Node Type"] for node in found if node.get("Relation Name") in tables}
    assert "Seq Scan" not in scans


# The window for a free-form message.

FREE = {"message": {"type": "text", "text": {"body": "Yes."}}}
TEMPLATED = {"template": {"name": "hello", "language": "en_US", "components": []}}
MARGIN = timedelta(seconds=WINDOW_MARGIN_SECONDS)


def test_a_free_form_message_to_who_wrote_too_long_ago_is_refused(world):
    hear(world, at=NOW - DAY - MARGIN - timedelta(seconds=1))

    key, claimed = send_direct(world, FREE)

    row = world.row(*key)
    assert claimed == ()
    assert (row["state"], row["error_code"], row["due_at"]) == ("failed", WINDOW_CLOSED, None)
    assert world.counters_equal_rows()


@pytest.mark.parametrize(
    ("ago", "number", "message"),
    [
        (DAY + MARGIN, NUMBER, FREE),
        (2 * DAY, OTHER_NUMBER, FREE),
        (2 * DAY, NUMBER, TEMPLATED),
        (None, NUMBER, FREE),
    ],
    ids=["within the margin", "another number", "a template", "nobody we know"],
)
def test_what_is_not_known_to_be_too_late_goes_out(world, ago, number, message):
    if ago is not None:
        hear(world, at=NOW - ago, number=number)

    assert len(send_direct(world, message)[1]) == 1


def test_a_key_that_a_person_moved_to_refuses_nothing(world):
    hear(world, "+4915155000099", at=NOW - 9 * DAY)
    world.conversations.move(["+4915155000099"], FIRST)

    assert len(send_direct(world, FREE)[1]) == 1


# Campaigns that stay with the number.


def numbers_of(world, campaign_id):
    """Seq to (number, fixed, sticky)."""
    query = """SELECT seq, phone_number_id, number_fixed, number_sticky
               FROM delivery WHERE campaign_id = %s ORDER BY seq"""
    return {seq: tuple(rest) for seq, *rest in world.database.fetch(query, (campaign_id,))}


FREE_ROW = (None, False, False)


def pause(world, number, until):
    world.orders.pause_number(number, until=until, reason="a test")


def test_whoever_talks_with_a_number_of_the_pool_is_sent_to_by_that_number(world):
    hear(world, at=NOW - 5 * DAY)
    hear(world, at=NOW - 2 * DAY, number=OTHER_NUMBER)
    hear(world, "+4915155000002", at=NOW - 31 * DAY)

    campaign_id = world.campaign(3, **POOL)

    assert numbers_of(world, campaign_id) == {
        1: (OTHER_NUMBER, True, True), 2: FREE_ROW, 3: FREE_ROW,
    }  # fmt: skip
    assert world.counters_equal_rows()
    assert world.queue(campaign_id)[0].seqs == (2, 3)
    assert world.queue(campaign_id, number=OTHER_NUMBER)[0].seqs == (1,)


@pytest.mark.parametrize(
    "changes",
    [
        {"numbers": [OTHER_NUMBER]},
        {**POOL, "stay_with_number_days": 0},
        {**POOL, "stay_with_number_days": 1},
        {**POOL, "fixed": NUMBER},
    ],
    ids=["one number", "off", "too long ago", "the audience names another"],
)
def test_nobody_stays_where_it_makes_no_sense_or_was_not_wanted(world, changes):
    hear(world, at=NOW - 2 * DAY, number=OTHER_NUMBER)

    campaign_id = world.campaign(1, **changes)

    assert not numbers_of(world, campaign_id)[1][2]


def test_nobody_stays_with_a_number_that_cannot_send(world):
    hear(world, number=OTHER_NUMBER, at=NOW - DAY)
    hear(world, "+4915155000002", number=NUMBER, at=NOW - DAY)
    pause(world, OTHER_NUMBER, FOREVER)
    world.database.fetch(
        "UPDATE number SET state = 'draining' WHERE phone_number_id = %s", (NUMBER,)
    )

    campaign_id = world.campaign(2, **POOL)

    assert numbers_of(world, campaign_id) == {1: FREE_ROW, 2: FREE_ROW}


def freed(world):
    """Let the reconciler free what stays with a lost number; returns how many rows."""
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    return len(world.reconciliations.free_sticky(campaign, now=NOW, limit=100))


@pytest.mark.parametrize("loss", ["paused", "draining", "gone"])
def test_when_the_number_is_lost_others_send_what_stayed_with_it(world, loss):
    hear(world, number=OTHER_NUMBER, at=NOW - DAY)
    campaign_id = world.campaign(2, **POOL)
    assert freed(world) == 0

    if loss == "paused":
        pause(world, OTHER_NUMBER, NOW + timedelta(seconds=STAY_PATIENCE_SECONDS + 1))
    elif loss == "draining":
        world.picks.configure([])
    else:
        world.database.fetch("DELETE FROM number WHERE phone_number_id = %s", (OTHER_NUMBER,))

    assert freed(world) == 1
    assert freed(world) == 0
    assert numbers_of(world, campaign_id) == {1: FREE_ROW, 2: FREE_ROW}
    assert world.counters_equal_rows()


def test_a_short_pause_is_waited_out(world):
    hear(world, number=OTHER_NUMBER, at=NOW - DAY)
    world.campaign(1, **POOL)

    pause(world, OTHER_NUMBER, NOW + timedelta(seconds=STAY_PATIENCE_SECONDS))

    assert freed(world) == 0


def test_a_number_that_the_audience_names_is_kept_even_when_it_is_lost(world):
    hear(world, number=OTHER_NUMBER, at=NOW - DAY)
    campaign_id = world.campaign(1, **POOL)
    world.database.fetch("UPDATE delivery SET number_sticky = false")
    pause(world, OTHER_NUMBER, FOREVER)

    assert freed(world) == 0
    assert numbers_of(world, campaign_id) == {1: (OTHER_NUMBER, True, False)}


def test_what_comes_back_from_a_lost_number_is_freed_as_well(world):
    hear(world, number=NUMBER, at=NOW - DAY)
    campaign_id = world.campaign(1, **POOL)
    world.queue(campaign_id)
    pause(world, NUMBER, FOREVER)
    assert freed(world) == 0

    world.claims.release([Key(campaign_id, 1)], now=NOW)

    assert freed(world) == 1
    assert len(world.queue(campaign_id, number=OTHER_NUMBER)) == 1


def test_freeing_reads_only_the_rows_of_lost_numbers(large, database):
    found = explain(
        database,
        reconciliations.FREE_STICKY,
        {
            "campaign_id": large,
            "sticky_numbers": [NUMBER, OTHER_NUMBER],
            "patience_ends_at": NOW,
            "limit": 5000,
        },
    )

    assert_by_index(found, rows_max=10)

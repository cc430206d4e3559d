"""Daily limits of portfolios, and the frequency cap: what counts, how long, and what it stops."""

import json
from datetime import timedelta
from itertools import product

import pytest

from sluice.adapters.postgres import claims, limits
from sluice.adapters.postgres.claims import Claims
from sluice.domain.claim import Key
from sluice.domain.direct import direct_send
from sluice.domain.frequency import FrequencyCap
from sluice.domain.outcomes import Accepted, Failed, Retry, Unknown
from sluice.domain.requests import SendRequest, request_hash
from sluice.domain.results import SUPPRESSED, TOO_OFTEN, WINDOW_CLOSED, handed_back, result_of
from sluice.steps.dispatch import dispatch
from tests.conftest import LANES, NOW, NUMBER, OTHER_NUMBER, TEMPLATE
from tests.integration.postgres.test_plans import explain

DAY = timedelta(days=1)
CAP = FrequencyCap(messages=2, days=7)


@pytest.fixture
def limited(world):
    """A world whose portfolio may write to 10 people a day."""
    world.configure(daily_limit=10)
    return world


class Topic:
    def publish_chunks(self, _chunks):
        """Take them."""


def run(world, clock, **changes):
    """Run dispatch for both numbers, with a daily limit of 10 and senders that are at work."""
    numbers = [
        {"phone_number_id": number, "account_id": "1", "portfolio_id": "1", "send_rate": 76.0,
         "lanes": LANES, "state": "active", "daily_limit": 10, **changes}
        for number in (NUMBER, OTHER_NUMBER)
    ]  # fmt: skip
    clock.meanwhile = lambda: at_work(world, clock)
    clock.meanwhile()
    return dispatch(numbers=numbers, picks=world.picks, topic=Topic(), clock=clock)


def at_work(world, clock):
    """Claim nothing, as senders with stale chunks do."""
    for number, lane in product((NUMBER, OTHER_NUMBER), LANES):
        sender = Claims(world.database, phone_number_id=number, lane=lane)
        sender.claim([Key(999, 1)], now=clock.now(), lease=clock.now())


def allowance(world, now=NOW):
    (one,) = world.reports.allowances([NUMBER], now=now)
    return one


def contacts(world):
    return world.database.fetch(
        "SELECT match_key, campaign_id, seq, attempt, portfolio_id, marketing, sent_at"
        " FROM contact ORDER BY match_key, campaign_id, seq, attempt"
    )


def record(world, claimed, outcome, now=NOW):
    policy = world.claims.policy(claimed.key.campaign_id)
    result = result_of(claimed, outcome, policy, now=now, dice=0.5)
    world.claims.record([result], now=now, patience_seconds=1)


def send_direct(world, name, content):
    request = SendRequest.model_validate_json(json.dumps({
        "id": name, "phone_number_id": NUMBER, "lane": "conversation",
        "recipients": [{"address": "+4915155000001", "parameters": {"name": "Ada"}}], **content,
    }))  # fmt: skip
    keys = world.campaigns.store_direct(
        request,
        direct_send(request, phone_number_id=NUMBER, lane="conversation"),
        request_hash=request_hash(request),
        now=NOW,
    )
    return world.claims.claim(keys, now=NOW, lease=NOW + timedelta(seconds=60)).rows


def test_who_is_written_to_is_a_contact_from_the_claim_on(limited):
    campaign_id, _ = limited.sending(2, category="utility")

    assert contacts(limited) == [
        (f"+4915155{seq:06d}", campaign_id, seq, 1, "1", False, NOW) for seq in (1, 2)
    ]
    assert (allowance(limited).contacted, allowance(limited).queued) == (2, 0)


def test_a_claim_whose_answer_was_lost_counts_once(limited):
    campaign_id, _ = limited.sending(2)

    assert len(limited.claim(campaign_id, (1, 2))) == 2
    assert allowance(limited).contacted == 2


@pytest.mark.parametrize("outcome", [Accepted("wamid.1"), Unknown("no answer")])
def test_what_may_have_reached_meta_stays_a_contact(limited, outcome):
    _, (claimed,) = limited.sending(1)

    for _ in range(2):
        record(limited, claimed, outcome)

    assert allowance(limited).contacted == 1


@pytest.mark.parametrize(
    "outcome", [Failed(131026, "no"), Retry(131016, "busy", 60, 5, 300)], ids=["failed", "retry"]
)
def test_what_meta_did_not_take_is_no_contact(limited, outcome):
    _, (claimed,) = limited.sending(1)

    record(limited, claimed, outcome)

    assert contacts(limited) == []


def test_what_is_handed_back_is_no_contact_and_its_late_twin_takes_no_other_away(limited):
    campaign_id, (claimed,) = limited.sending(1)
    back = handed_back(claimed, due_at=NOW)
    limited.claims.record([back], now=NOW, patience_seconds=1)
    assert contacts(limited) == []

    limited.queue(campaign_id, now=NOW)
    lease = NOW + timedelta(seconds=61)
    limited.claims.claim([Key(campaign_id, 1)], now=NOW, lease=lease)
    limited.claims.record([back], now=NOW, patience_seconds=1)

    assert len(contacts(limited)) == 1


def test_a_row_of_a_sender_that_died_stays_a_contact(limited, clock):
    campaign_id, _ = limited.sending(1)
    (campaign,) = limited.reconciliations.open_campaigns(now=NOW)

    limited.reconciliations.doubt_stuck(campaign, now=NOW + timedelta(seconds=61), limit=10)

    assert limited.states(campaign_id) == {"unknown": 1}
    assert allowance(limited).contacted == 1


def test_a_portfolio_without_a_limit_has_no_contacts(world):
    world.sending(3)

    assert contacts(world) == []
    assert world.reports.allowances([NUMBER], now=NOW) == []


def test_a_free_form_message_does_not_count_and_a_direct_template_does(limited):
    send_direct(limited, "reply", {"message": {"type": "text", "text": {"body": "Yes."}}})
    assert contacts(limited) == []

    send_direct(limited, "template", {"template": TEMPLATE})
    assert len(contacts(limited)) == 1


def test_a_person_who_is_written_to_twice_counts_once(limited):
    limited.sending(2, name="first")
    limited.sending(2, name="second")

    assert len(contacts(limited)) == 4
    assert allowance(limited).contacted == 2


def test_dispatch_queues_no_more_than_the_portfolio_may_write_to(limited, clock):
    campaign_id = limited.campaign(30, numbers=[NUMBER, OTHER_NUMBER])

    done = run(limited, clock)

    assert done.deliveries == 10
    assert limited.states(campaign_id) == {"queued": 10, "pending": 20}
    assert done.at_limit == {"1"}
    assert allowance(limited).left == 0
    numbers = limited.database.fetch(
        "SELECT count(*) FROM delivery WHERE state = 'queued' GROUP BY phone_number_id"
    )
    assert numbers == [(5,), (5,)]


def test_what_does_not_fit_is_taken_as_the_window_rolls(limited, clock):
    campaign_id = limited.campaign(12)
    run(limited, clock)
    limited.claim(campaign_id, range(1, 5), now=NOW)
    limited.claim(campaign_id, range(5, 11), now=NOW + timedelta(hours=1))

    clock.moment = NOW + DAY - timedelta(minutes=2)
    assert run(limited, clock).deliveries == 0

    clock.moment = NOW + DAY
    done = run(limited, clock)
    assert done.deliveries == 2
    assert limited.states(campaign_id) == {"sending": 10, "queued": 2}


def test_a_conversation_is_not_held_back(limited, clock):
    campaign_id = limited.campaign(10)
    run(limited, clock)
    limited.claim(campaign_id, range(1, 11))
    (claimed,) = send_direct(limited, "reply", {"template": TEMPLATE})
    back = handed_back(claimed, due_at=NOW)
    limited.claims.record([back], now=NOW, patience_seconds=1)

    assert allowance(limited).left == 0
    assert run(limited, clock).deliveries == 1
    assert limited.states(claimed.key.campaign_id) == {"queued": 1}


def test_queued_rows_of_a_paused_number_use_the_limit_up_too(limited, clock):
    campaign_id = limited.campaign(30, numbers=[NUMBER, OTHER_NUMBER])
    limited.queue(campaign_id, 8, number=OTHER_NUMBER)
    limited.orders.pause_number(OTHER_NUMBER, until=NOW + DAY, reason="test")

    assert run(limited, clock).deliveries == 2


def test_what_meta_told_stands_against_the_configuration(world):
    world.configure(daily_limit=10)
    world.limits.tell("1", 250, source="business_capability_update", at=NOW)
    world.configure(daily_limit=20)

    assert allowance(world).daily_limit == 250


def test_the_configuration_counts_until_meta_tells_and_may_change(world):
    world.configure(daily_limit=10)
    world.configure(daily_limit=20)

    assert allowance(world).daily_limit == 20


@pytest.mark.parametrize("late_first", [False, True])
def test_the_newest_word_counts_in_whatever_order_they_come(world, late_first):
    words = [(250, NOW), (2_000, NOW + DAY)]

    for limit, at in reversed(words) if late_first else words:
        world.limits.tell("1", limit, source="business_capability_update", at=at)

    assert allowance(world).daily_limit == 2_000


@pytest.mark.parametrize("words", [(250, None), (None, 250), (250, 2_000), (2_000, 250)])
def test_of_two_words_of_one_second_the_lower_limit_counts(world, words):
    for limit in words:
        world.limits.tell("1", limit, source="business_capability_update", at=NOW)

    assert allowance(world).daily_limit == 250


def test_a_limit_that_meta_lifts_is_none(limited, clock):
    campaign_id = limited.campaign(30)
    limited.limits.tell("1", None, source="phone_number_quality_update", at=NOW)

    done = run(limited, clock)

    assert (done.deliveries, done.at_limit) == (30, set())
    assert limited.states(campaign_id) == {"queued": 30}


def test_an_account_that_nobody_knows_sets_no_limit(world):
    world.limits.tell("2", 250, source="business_capability_update", at=NOW)

    assert world.reports.allowances([NUMBER], now=NOW) == []


def test_old_contacts_are_forgotten_in_batches(limited):
    limited.sending(3, name="old")
    limited.campaign(3, name="new")
    limited.queue(2, 3)
    limited.claim(2, now=NOW + timedelta(hours=1))

    batches = [limited.limits.forget_contacts(before=NOW, limit=2) for _ in range(3)]

    assert batches == [2, 1, 0]
    assert {row[6] for row in contacts(limited)} == {NOW + timedelta(hours=1)}


def capped(world, name, *, now=NOW, cap=CAP, **changes):
    """Claim a campaign to one person under a frequency cap; its id and the rows."""
    campaign_id = world.campaign(1, name=name, now=now, **changes)
    world.queue(campaign_id, 1, now=now)
    sender = Claims(world.database, phone_number_id=NUMBER, lane="bulk", frequency_cap=cap)
    lease = now + timedelta(seconds=60)
    return campaign_id, sender.claim([Key(campaign_id, 1)], now=now, lease=lease).rows


def test_a_person_who_had_all_the_marketing_of_the_cap_gets_no_more(world):
    assert capped(world, "first")[1]
    assert capped(world, "second", now=NOW + DAY)[1]

    third, rows = capped(world, "third", now=NOW + 2 * DAY)

    assert rows == ()
    assert world.row(third)["state"] == "failed"
    assert (world.row(third)["error_code"], world.row(third)["due_at"]) == (TOO_OFTEN, None)
    assert world.reports.refused(third) == [(TOO_OFTEN, 1)]
    assert world.counters_equal_rows()


def test_after_the_days_of_the_cap_the_person_gets_marketing_again(world):
    capped(world, "first")
    capped(world, "second")

    assert capped(world, "third", now=NOW + 7 * DAY)[1]


def test_other_messages_are_neither_stopped_by_the_cap_nor_counted(world):
    capped(world, "first", category="utility")
    capped(world, "second", category="utility")
    assert capped(world, "third")[1]
    capped(world, "fourth")

    assert capped(world, "fifth", category="utility")[1]
    assert len(contacts(world)) == 2


def test_another_attempt_at_the_same_message_is_not_stopped_by_the_one_before(world):
    cap = FrequencyCap(messages=1, days=7)
    campaign_id, (claimed,) = capped(world, "first", cap=cap, unknown_policy="resend")
    record(world, claimed, Unknown("no answer"))
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    later = NOW + timedelta(hours=1)
    world.reconciliations.settle_unknown(campaign, now=later, limit=10)
    world.queue(campaign_id, 1, now=later)

    sender = Claims(world.database, phone_number_id=NUMBER, lane="bulk", frequency_cap=cap)
    rows = sender.claim([Key(campaign_id, 1)], now=later, lease=later + timedelta(seconds=60)).rows

    assert [row.attempt for row in rows] == [2]


def test_the_rows_of_a_paused_campaign_wait_and_are_not_refused(world):
    capped(world, "first")
    capped(world, "second")
    campaign_id = world.campaign(1, name="third")
    world.queue(campaign_id, 1)
    world.stops.pause_campaign(campaign_id, until=None, reason="test")
    sender = Claims(world.database, phone_number_id=NUMBER, lane="bulk", frequency_cap=CAP)

    sender.claim([Key(campaign_id, 1)], now=NOW, lease=NOW + timedelta(seconds=60))

    assert world.states(campaign_id) == {"pending": 1}


@pytest.fixture
def many(limited, database):
    """A hundred thousand people of this day, and as many of the days before."""
    database.fetch(
        "INSERT INTO contact SELECT '+49151' || n, 900, n, 1, '1', true,"
        " %s::timestamptz - (n * 1.7 * interval '1 second') FROM generate_series(1, 200000) AS n",
        (NOW,),
    )
    database.fetch("VACUUM ANALYZE contact")
    return limited


def test_people_of_the_day_are_counted_in_the_index(many, database):
    parameters = {"since": NOW - DAY, "numbers": None}

    found = explain(database, limits.ALLOWANCES, parameters)

    (scan,) = [node for node in found if node.get("Relation Name") == "contact"]
    assert (scan["Node Type"], scan["Index Name"]) == ("Index Only Scan", "contact_portfolio")
    assert scan["Actual Rows"] <= 52_000


def test_a_claim_finds_what_a_person_got_by_the_key(many, database):
    campaign_id = many.campaign(40)
    many.queue(campaign_id, 40)
    database.fetch("ANALYZE delivery, recipient")

    found = explain(
        database,
        claims.CLAIM,
        {
            "campaign_ids": [campaign_id] * 40,
            "seqs": list(range(1, 41)),
            **claims.LANES,
            "phone_number_id": NUMBER,
            "lane": "bulk",
            "now": NOW,
            "lease": NOW + DAY,
            "suppressed": SUPPRESSED,
            "window_closed": WINDOW_CLOSED,
            "margin": 600.0,
            "too_often": TOO_OFTEN,
            "cap_messages": CAP.messages,
            "cap_since": NOW - CAP.window,
            "climb": 0.05,
            "climb_seconds": 10.0,
        },
    )

    asked = [node for node in found if node.get("Alias") == "had" and "Scan" in node["Node Type"]]
    assert {node.get("Index Name") for node in asked} == {"contact_pkey"}
    assert sum(node["Actual Loops"] for node in asked) == 40


def test_old_contacts_are_found_in_the_index(many, database):
    found = explain(database, limits.FORGET_CONTACTS, {"before": NOW - DAY, "limit": 5_000})

    scans = [node for node in found if node.get("Relation Name") == "contact"]
    assert "Seq Scan" not in {node["Node Type"] for node in scans}

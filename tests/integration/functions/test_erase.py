"""erase.handle on real Postgres: whom and what it forgets, what stays, and what is refused."""

import json
from datetime import timedelta

import pytest

from functions.report.handler import handle as handle_report
from sluice.adapters.postgres.erasures import Erasures
from sluice.adapters.postgres.holdings import Holdings
from sluice.adapters.prices import read_prices
from sluice.domain.audience import Position
from sluice.domain.delivery import Status, UnmatchedStatus
from sluice.domain.direct import direct_send
from sluice.domain.frequency import FrequencyCap
from sluice.domain.inbound import Heard
from sluice.domain.limits import ERASE_LEASE_MARGIN_SECONDS
from sluice.domain.outcomes import Accepted, Failed, Unknown
from sluice.domain.requests import SendRequest, request_hash
from sluice.domain.saved import Named
from sluice.domain.suppressions import Suppression
from tests.conftest import NOW, NUMBER, TEMPLATE
from tests.integration.functions import test_command_resends as resends
from tests.integration.functions.ports import event_of, failed, parked, reasons, samples
from tests.integration.postgres.test_statuses import apply, record, status
from tests.integration.postgres.test_suppressions import suppress

PERSON = "+4915155000001"
DIGITS = PERSON.removeprefix("+")
USER = "DE.13491208655302741918"
DAY = timedelta(days=1)
OUTCOMES = {"invalid_fields": "parked", "campaign": "again"}
"""The others are carried out."""


def asked(address=PERSON, **changes):
    return event_of(
        {"kind": "erase", "id": "request-1", "address": address, **changes}, kind="erase"
    )


def about(campaign="reminder", **changes):
    body = {"kind": "erase", "id": "campaign-1", "campaign": campaign, **changes}
    event = event_of(body, kind="erase")
    event["Records"][0]["messageId"] = "about a campaign"
    return event


@pytest.fixture
def told(world, aws, clock):
    """What the report answers."""

    def told(event):
        return handle_report(
            event,
            reports=world.reports,
            resends=world.resends,
            messages=aws.parked_messages(),
            prices=read_prices,
            clock=clock,
        )

    return told


def tables_with(world, *texts):
    """The tables that have one of the texts in any column of any row."""
    tables = world.database.fetch(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
        " AND relnamespace = 'public'::regnamespace ORDER BY 1"
    )
    return {
        table
        for (table,) in tables
        for text in texts
        if world.database.fetch(
            f"SELECT 1 FROM {table} AS one WHERE strpos(one::text, %s) > 0 LIMIT 1", (text,)
        )
    }


def send_direct(world, name, address):
    """Store a direct send to one person, and return its deliveries."""
    request = SendRequest.model_validate_json(json.dumps({
        "id": name, "phone_number_id": NUMBER, "lane": "conversation",
        "recipients": [{"address": address, "parameters": {"name": "Ada"}}], "template": TEMPLATE,
    }))  # fmt: skip
    direct = direct_send(request, phone_number_id=NUMBER, lane="conversation")
    hashed = request_hash(request)
    return world.campaigns.store_direct(request, direct, request_hash=hashed, now=NOW)


def keep_signal(world, digest, body, *, at=NOW):
    world.signals.keep({digest: {"account": "1", "field": "messages", **body}}, asking=(), now=at)


def save_audience(world, *keys):
    """Save an audience with these people in it."""
    kept = world.saved.create(
        "members", request_hash="", s3="s3://a/b", is_ndjson=False, etag="e", now=NOW
    )
    end = Position(len(keys), len(keys))
    rows = [Named(key) for key in keys]
    world.saved.store(kept.audience_id, rows, start=Position(), end=end, etag="e")
    world.saved.finish(kept.audience_id, now=NOW)


def known_everywhere(world, *, large=False):
    """A person in every table that can hold one; returns the campaign."""
    world.database.fetch("UPDATE portfolio SET daily_limit = 1000")
    world.claims._frequency_cap = FrequencyCap(5, 30)
    campaign_id, rows = world.sending(3, large=large)
    record(world, rows[0], Accepted(f"wamid.{DIGITS}"))
    apply(
        world,
        status(campaign_id, "failed", user=USER, errors=[{"code": 131026, "title": DIGITS}]),
    )
    send_direct(world, "visit-1", PERSON)
    world.conversations.hear([Heard(NUMBER, (PERSON, USER), NOW - DAY, NOW, None)], now=NOW)
    keep_signal(world, "one", {"value": {"messages": [{"from": DIGITS, "text": "My name is Ada"}]}})
    keep_signal(world, "two", {"value": {"user_id": USER}})
    save_audience(world, PERSON, USER, "+4915155000009")
    world.statuses.keep_orphans(
        [UnmatchedStatus(f"wamid.{DIGITS}", Status.READ, NOW, None, None)], now=NOW
    )
    return campaign_id


@pytest.mark.parametrize("sample", samples("erase"))
def test_an_erase_sample_comes_to_what_it_is(erase, aws, load_event, sample):
    event = load_event(f"erase/{sample}")

    answer = erase.run(event if "Records" in event else None)

    outcome = "parked" if parked(aws) else "again" if failed(answer) else "done"
    assert outcome == OUTCOMES.get(sample, "done")


@pytest.mark.parametrize("large", [False, True])
def test_a_person_who_is_erased_is_in_no_table(world, erase, large):
    known_everywhere(world, large=large)
    everywhere = tables_with(world, DIGITS, USER)
    assert everywhere >= {
        "audience_person", "recipient", "message", "contact", "conversation", "user_phone",
        "strike", "signal", "orphan_status",
    }  # fmt: skip

    erase.run(asked())

    assert tables_with(world, DIGITS, USER, "Ada") == set()


def test_the_delivery_stays_with_its_counters(world, erase, told):
    campaign_id = known_everywhere(world)

    erase.run(asked())

    assert world.row(campaign_id)["state"] == "done"
    assert told({"campaign": "reminder"})["total"] == 3
    assert world.counters_equal_rows()


@pytest.mark.parametrize("written", ["+5531988887777", "+553188887777"])
@pytest.mark.parametrize("asked_as", ["+55 31 98888-7777", "+553188887777"])
def test_a_person_is_found_under_every_way_to_write_the_number(world, erase, written, asked_as):
    send_direct(world, "visit-1", written)
    keep_signal(world, "one", {"value": {"from": written.removeprefix("+")}})

    erase.run(asked(asked_as))

    assert tables_with(world, "88887777") == set()


@pytest.mark.parametrize("asked_as", [PERSON, USER])
def test_a_person_is_found_by_the_number_and_by_the_user_id(world, erase, asked_as):
    world.conversations.hear([Heard(NUMBER, (PERSON, USER), NOW, NOW + DAY, None)], now=NOW)
    send_direct(world, "visit-1", PERSON)
    send_direct(world, "visit-2", USER)

    erase.run(asked(asked_as))

    assert tables_with(world, DIGITS, USER) == set()


def test_nobody_else_leaves_a_saved_audience(world, erase):
    save_audience(world, PERSON, "+4915155000009")

    erase.run(asked())

    assert world.database.fetch("SELECT match_key FROM audience_person") == [("+4915155000009",)]


def test_nobody_else_is_erased(world, erase):
    campaign_id = known_everywhere(world)
    longer = f"{DIGITS}0"
    keep_signal(world, "other", {"value": {"from": longer}})

    erase.run(asked())

    seqs = "SELECT seq FROM recipient WHERE campaign_id = %s ORDER BY 1"
    assert world.database.fetch(seqs, (campaign_id,)) == [(2,), (3,)]
    assert tables_with(world, longer) == {"signal"}


@pytest.mark.parametrize("queued", [0, 3])
def test_what_has_not_left_is_cancelled(world, erase, told, queued):
    campaign_id = world.campaign(3)
    world.queue(campaign_id, queued) if queued else None

    erase.run(asked())

    row = world.row(campaign_id)
    assert (row["state"], row["due_at"]) == ("cancelled", None)
    assert [one.key.seq for one in world.claim(campaign_id)] == ([2, 3] if queued else [])
    assert told({"erase": "request-1"})["cancelled"] == 1
    assert world.counters_equal_rows()


def test_a_message_that_leaves_just_now_is_recorded_and_erased_a_little_later(world, erase, clock):
    campaign_id, rows = world.sending(3)

    answer = erase.run(asked())
    assert len(failed(answer)) == 1
    assert tables_with(world, DIGITS) >= {"recipient"}
    record(world, rows[0], Accepted(f"wamid.{DIGITS}"))
    clock.advance(90)
    assert failed(erase.run(asked(), receives=2)) == []

    assert world.row(campaign_id)["state"] == "done"
    assert tables_with(world, DIGITS) == set()


def test_a_row_of_a_sender_that_died_is_unknown_for_good(world, erase, clock):
    campaign_id, _ = world.sending(3, unknown_policy="resend")
    clock.advance(60 + ERASE_LEASE_MARGIN_SECONDS + 1)

    erase.run(asked())

    row = world.row(campaign_id)
    assert (row["state"], row["due_at"]) == ("unknown", None)


def test_an_answer_that_was_lost_is_not_sent_again_to_an_erased_person(world, erase):
    campaign_id, rows = world.sending(3, unknown_policy="resend")
    record(world, rows[0], Unknown("no answer"))

    erase.run(asked())
    for campaign in world.reconciliations.open_campaigns(now=NOW + DAY):
        world.reconciliations.settle_unknown(campaign, now=NOW + DAY, limit=10)

    row = world.row(campaign_id)
    assert (row["state"], row["due_at"]) == ("unknown", None)


def test_a_late_result_of_an_erased_row_breaks_nothing(world, erase, clock):
    campaign_id, rows = world.sending(3)
    clock.advance(60 + ERASE_LEASE_MARGIN_SECONDS + 1)
    erase.run(asked())

    record(world, rows[0], Failed(131026, "not on WhatsApp"))

    assert world.row(campaign_id)["state"] == "unknown"
    assert world.counters_equal_rows()


def test_late_statuses_do_not_bring_a_person_back(world, erase):
    campaign_id, rows = world.sending(3)
    record(world, rows[0], Accepted("wamid.A"))
    erase.run(asked())

    apply(world, status(campaign_id, "sent", user=USER))
    apply(world, status(campaign_id, "failed", seconds=1, errors=[{"code": 131049}]))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["due_at"]) == ("done", "failed", None)
    assert tables_with(world, DIGITS, USER) == set()


def test_a_failure_that_could_be_tried_again_is_final_for_an_erased_person(world, erase):
    campaign_id, rows = world.sending(3)
    for row in rows:
        record(world, row, Accepted(f"wamid.{row.key.seq}"))
    erase.run(asked())

    for seq in (1, 2):
        errors = [{"code": 131049, "title": "healthy ecosystem"}]
        apply(world, status(campaign_id, "failed", seq=seq, errors=errors))

    assert world.row(campaign_id, 1)["state"] == "done"
    assert world.row(campaign_id, 2)["state"] == "pending"


def test_a_signal_that_was_blanked_comes_again_as_known(world, erase):
    body = {"value": {"messages": [{"from": DIGITS}]}}
    keep_signal(world, "one", body)
    erase.run(asked())

    keep_signal(world, "one", body)

    assert world.database.fetch("SELECT body::text FROM signal") == [("{}",)]


def test_a_stop_outlives_the_erasure(world, erase, told):
    suppress(world, PERSON)

    erase.run(asked())

    (kept,) = world.in_force()
    assert (kept.match_key, kept.scope, kept.reason) == (PERSON, "all", "erased")
    assert told({"erase": "request-1"})["suppression"] == "kept"


def test_who_never_stopped_is_not_kept_for_a_stop(world, erase, told):
    known_everywhere(world)

    erase.run(asked())

    assert list(world.in_force()) == []
    assert told({"erase": "request-1"})["suppression"] == "none"


@pytest.mark.parametrize("why", ["undeliverable", "lifted"])
def test_what_is_no_stop_of_the_person_is_not_kept(world, erase, why):
    if why == "lifted":
        suppress(world, PERSON)
        world.suppressions.lift([PERSON], "marketing", source="messages", at=NOW + DAY)
    else:
        world.suppressions.suppress([Suppression(PERSON, "all", why, "error 131026", NOW)])

    erase.run(asked())

    assert tables_with(world, DIGITS) == set()


def test_a_stop_is_forgotten_where_that_is_asked_for(world, erase, told):
    suppress(world, PERSON)

    erase.run(asked(forget_suppression=True))

    assert tables_with(world, DIGITS) == set()
    assert told({"erase": "request-1"})["suppression"] == "forgotten"


def test_an_erasure_that_runs_twice_is_one(world, erase):
    known_everywhere(world)
    suppress(world, PERSON)
    erase.run(asked())
    once = list(world.in_force())

    assert failed(erase.run(asked())) == []

    assert [one.match_key for one in world.in_force()] == [once[0].match_key]
    assert tables_with(world, DIGITS, USER) == {"suppression"}


def test_published_again_it_erases_what_has_come_since(world, erase):
    erase.run(asked())
    send_direct(world, "visit-1", PERSON)

    erase.run(asked())

    assert tables_with(world, DIGITS) == set()


class Short(Erasures):
    """Looks at two rows at a time, and each time takes a minute."""

    def __init__(self, database, clock):
        super().__init__(database)
        self.clock = clock

    def walk_recipients(self, erasure_id, *, now, limit):
        self.clock.advance(60)
        return super().walk_recipients(erasure_id, now=now, limit=2)

    def walk_signals(self, erasure_id, *, limit):
        self.clock.advance(60)
        return super().walk_signals(erasure_id, limit=1)


def test_an_erasure_that_runs_out_of_time_goes_on_where_it_stopped(world, erase, clock):
    for name in ("a", "b", "c"):
        world.campaign(3, name=name)
    for place in range(3):
        keep_signal(world, f"{place}", {"value": {"from": DIGITS}})
    runs = 0

    while failed(erase.run(asked(), seconds=200, erasures=Short(world.database, clock))):
        runs += 1

    assert 3 <= runs <= 10
    assert tables_with(world, DIGITS) == set()
    assert world.database.fetch("SELECT deliveries, cancelled, signals FROM erasure") == [(3, 3, 3)]


def test_an_erasure_whose_message_was_lost_is_ended_by_the_clock(world, erase, clock):
    world.campaign(6)
    erase.run(asked(), seconds=130, erasures=Short(world.database, clock))
    assert "erasure" in tables_with(world, DIGITS)

    erase.run(days=None)

    assert tables_with(world, DIGITS) == set()
    assert erase.telemetry.counts()["PeopleErased"] == 1


def test_an_audience_that_loads_is_waited_for_but_not_for_ever(world, erase):
    world.campaign(3)
    world.database.fetch("UPDATE campaign SET loaded_at = NULL")

    assert len(failed(erase.run(asked()))) == 1
    assert failed(erase.run(asked(), receives=5)) == []


@pytest.mark.parametrize("other", [asked("+4915155000002"), about("reminder", id="request-1")])
def test_an_id_is_of_one_person_until_that_is_erased(world, erase, aws, clock, other):
    campaign_id = world.campaign(3)
    world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = now()")
    erase.run(asked(), seconds=130, erasures=Short(world.database, clock))

    erase.run(other)

    assert reasons(aws) == ["erasure request-1 exists with another content"]
    assert world.states(campaign_id) == {"pending": 2, "cancelled": 1}


def test_an_address_that_is_none_is_refused_and_not_repeated(erase, aws):
    erase.run(asked("0151 550000"))

    (reason,) = reasons(aws)
    assert reason.startswith("address: ")
    assert "550000" not in reason


def test_the_report_tells_an_erasure_and_never_whom_it_is_about(world, erase, told):
    known_everywhere(world)
    erase.run(asked())

    answer = told({"erase": "request-1"})

    assert answer == {
        "erase": "request-1",
        "of": "a person",
        "deliveries": 2,
        "cancelled": 1,
        "signals": 2,
        "suppression": "none",
        "state": "erased",
        "created_at": NOW.isoformat(),
        "finished_at": NOW.isoformat(),
    }
    assert told({"erase": "request-2"}) == {"problem": "there is no erasure request-2"}


def test_who_asked_is_noted_and_never_about_whom(world, erase, clock):
    over(world, clock)
    erase.run(asked())
    erase.run(about())

    noted = "SELECT via, action, subject, details FROM audit WHERE action = 'erase' ORDER BY 1, 3"
    assert world.database.fetch(noted) == [
        ("principal", "erase", "campaign reminder", {}),
        ("principal", "erase", "erasure request-1", {}),
    ]
    assert world.database.fetch("SELECT count(*) FROM audit WHERE action = 'erased'") == [(0,)]
    assert tables_with(world, DIGITS) == set()


def test_a_direct_send_that_comes_again_after_the_erasure_sends_nothing(world, erase):
    keys = send_direct(world, "visit-1", PERSON)
    erase.run(asked())

    assert send_direct(world, "visit-1", PERSON) == keys
    assert world.claim(keys[0].campaign_id, [keys[0].seq]) == ()
    assert tables_with(world, DIGITS) == set()


# Campaigns.


def over(world, clock, *, name="reminder", recipients=3, large=False):
    """A campaign with everything that a campaign may have, finished."""
    now = clock.now()
    campaign_id = world.campaign(recipients, name=name, now=now, large=large)
    world.queue(campaign_id, recipients, now=now)
    rows = world.claim(campaign_id, range(1, recipients + 1), now=now)
    for row in rows:
        record(world, row, Accepted(f"wamid.{campaign_id}.{row.key.seq}"))
    apply(world, status(campaign_id, "failed", errors=[{"code": 131026}]))
    world.database.fetch("INSERT INTO rejected VALUES (%s, 9, 'is empty')", (campaign_id,))
    (campaign,) = (
        one
        for one in world.reconciliations.open_campaigns(now=now)
        if one.campaign_id == campaign_id
    )
    world.reconciliations.note_progress(now=now, forget_before=NOW - DAY)
    assert world.reconciliations.finish(campaign, now=now)
    return campaign_id


def rows_of(world, campaign_id):
    """Tables that have rows of the campaign."""
    tables = world.database.fetch(
        "SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT relispartition AND attname = 'campaign_id'"
    )
    return {
        table
        for (table,) in tables
        if world.database.fetch(
            f"SELECT 1 FROM {table} WHERE campaign_id = %s LIMIT 1", (campaign_id,)
        )
    }


@pytest.mark.parametrize("large", [False, True])
def test_a_finished_campaign_is_erased_and_what_became_of_it_stays(
    world, erase, clock, told, large
):
    campaign_id, other_id = over(world, clock, large=large), over(world, clock, name="other")
    before = told({"campaign": "reminder"})

    erase.run(about())

    assert rows_of(world, campaign_id) == {"campaign", "campaign_counter", "strike"}
    assert rows_of(world, other_id) >= {"delivery", "recipient", "message", "rejected"}
    after = told({"campaign": "reminder"})
    assert after["state"] == "erased"
    for name in ("total", "states", "statuses", "numbers", "finished_at"):
        assert after[name] == before[name]
    assert told({"erase": "campaign-1"})["state"] == "erased"


def test_an_erased_campaign_that_is_published_again_is_known_and_sends_nothing(
    world, erase, campaign, clock, aws, load_event
):
    sample = load_event("campaign/inline")
    campaign.run(sample, check="off")
    name = json.loads(sample["Records"][0]["body"])["campaign"]
    world.database.fetch("UPDATE delivery SET state = 'cancelled', due_at = NULL")
    world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = now()")
    erase.run(about(name))

    assert failed(campaign.run(sample, check="off")) == []

    assert parked(aws) == []
    assert tables_with(world, name) >= {"campaign"}
    assert world.database.fetch("SELECT count(*) FROM delivery") == [(0,)]
    assert world.database.fetch("SELECT state FROM campaign") == [("erased",)]


@pytest.mark.parametrize("state", ["running", "paused"])
def test_a_campaign_that_is_not_over_is_refused(world, erase, aws, state):
    campaign_id = world.campaign(3)
    world.database.fetch("UPDATE campaign SET state = %s", (state,))

    erase.run(about())

    assert reasons(aws) == [f"campaign reminder is {state}: cancel it, or let it finish"]
    assert world.states(campaign_id) == {"pending": 3}


def test_a_campaign_that_is_being_cancelled_is_waited_for(world, erase, aws):
    campaign_id = world.campaign(3)
    world.orders.command_campaign("reminder", state="cancelled", reason=None)

    assert len(failed(erase.run(about()))) == 1
    (one,) = world.reconciliations.open_campaigns(now=NOW)
    world.reconciliations.close_waiting(one, state="cancelled", limit=10)
    world.reconciliations.finish(one, now=NOW)
    assert failed(erase.run(about(), receives=2)) == []

    assert world.states(campaign_id) == {}


def test_there_is_no_such_campaign_after_a_while(erase, aws):
    assert len(failed(erase.run(about(), receives=4))) == 1
    erase.run(about(), receives=5)

    assert reasons(aws) == ["there is no campaign reminder"]


def test_direct_sends_are_not_erased_as_a_campaign(world, erase, aws):
    send_direct(world, "visit-1", PERSON)
    name = f"direct:{NUMBER}:conversation"

    erase.run(about(name))

    assert reasons(aws) == [f"{name} holds direct sends, which go by their age"]


@pytest.mark.parametrize("large", [False, True])
def test_late_statuses_of_an_erased_campaign_are_counted_and_dropped(world, erase, clock, large):
    campaign_id = over(world, clock, large=large)
    erase.run(about())

    late = status(campaign_id, "failed", errors=[{"code": 131000, "title": "late"}], user=USER)
    written = apply(world, late, status(campaign_id, "read", seq=2))

    assert (written.updates, written.reached, written.orphans) == (2, 0, 0)
    assert rows_of(world, campaign_id) == {"campaign", "campaign_counter", "strike"}
    assert world.database.fetch("SELECT count(*) FROM orphan_status") == [(0,)]


@pytest.mark.parametrize("state", ["running", "paused", "cancelled"])
def test_nothing_brings_an_erased_campaign_back(world, erase, clock, state):
    over(world, clock)
    erase.run(about())

    assert world.orders.command_campaign("reminder", state=state, reason="again") == "erased"
    assert world.campaigns.subject("reminder") is None


class OneByOne(Holdings):
    """Deletes one position at a time, and each time takes a minute."""

    def __init__(self, database, clock):
        super().__init__(database)
        self.clock = clock

    def delete(self, campaign_id, *, limit):
        self.clock.advance(60)
        return super().delete(campaign_id, limit=1)


@pytest.mark.parametrize("ended_by", ["the message", "the clock"])
def test_a_campaign_is_erased_by_bounded_batches_over_several_runs(
    world, erase, clock, told, ended_by
):
    campaign_id = over(world, clock)
    total = told({"campaign": "reminder"})["total"]
    slow = OneByOne(world.database, clock)

    assert len(failed(erase.run(about(), seconds=200, holdings=slow))) == 1
    assert told({"erase": "campaign-1"})["state"] == "erasing"
    for receives in range(2, 9):
        erase.run(about() if ended_by == "the message" else None, receives=receives, seconds=200,
                  holdings=slow)  # fmt: skip

    assert rows_of(world, campaign_id) == {"campaign", "campaign_counter", "strike"}
    assert told({"erase": "campaign-1"})["state"] == "erased"
    assert told({"campaign": "reminder"})["total"] == total


def test_a_campaign_is_erased_once_however_often_it_is_asked_for(world, erase, clock, told):
    over(world, clock)
    erase.run(about())
    before = told({"campaign": "reminder"})

    erase.run(about())
    erase.run(about(id="campaign-2"))

    assert told({"campaign": "reminder"}) == before
    assert told({"erase": "campaign-2"})["state"] == "erased"


def test_a_campaign_that_was_cancelled_while_it_loaded_is_not_loaded_on(world, erase):
    campaign_id = world.campaign(3)
    world.database.fetch(
        "UPDATE campaign SET loaded_at = NULL, state = 'cancelled', finished_at = now()"
    )
    erase.run(about())

    assert world.campaigns.find("reminder").loaded
    assert world.states(campaign_id) == {}


def test_an_erased_person_is_not_sent_to_again_by_an_order(world, erase):
    campaign_id = resends.campaign_of(world, "payment", "payment")

    erase.run(asked())
    order = resends.model(resends.order())
    world.resends.begin(order, request_hash="a", now=NOW)
    taken = world.resends.take(campaign_id, order.id, now=NOW)

    assert (taken.taken, taken.finished) == (1, True)
    assert world.row(campaign_id, 1)["state"] == "failed"


def test_an_erased_campaign_is_not_sent_again_by_an_order(world, erase):
    resends.campaign_of(world, "payment")
    erase.run(about())

    order = resends.model(resends.order())
    assert world.resends.begin(order, request_hash="a", now=NOW) == "the campaign is erased"


# What is old.


def test_campaigns_are_deleted_by_their_age(world, erase, clock, told):
    old = over(world, clock)
    clock.advance(200 * DAY.total_seconds())
    young = over(world, clock, name="young")
    clock.advance(201 * DAY.total_seconds())

    erase.run(days=400)

    assert rows_of(world, old) == {"campaign", "campaign_counter"}
    assert rows_of(world, young) >= {"delivery", "recipient", "message"}
    assert told({"campaign": "reminder"})["state"] == "erased"
    assert erase.telemetry.counts()["CampaignsErased"] == 1


def test_a_campaign_that_never_ended_is_not_deleted(world, erase, clock):
    campaign_id = world.campaign(3)
    clock.advance(1_000 * DAY.total_seconds())

    erase.run(days=400)

    assert world.states(campaign_id) == {"pending": 3}


def test_without_a_retention_everything_is_kept(world, erase, clock):
    campaign_id = over(world, clock)
    send_direct(world, "visit-1", PERSON)
    clock.advance(10_000 * DAY.total_seconds())

    erase.run(days=None)

    assert rows_of(world, campaign_id) >= {"delivery", "recipient", "message"}
    assert tables_with(world, "visit-1") == {"direct_send"}


def test_direct_sends_are_deleted_by_their_age_with_their_ids(world, erase, clock):
    (first,) = send_direct(world, "visit-1", PERSON)
    (second,) = send_direct(world, "visit-2", PERSON)
    world.database.fetch(
        "UPDATE direct_send SET created_at = %s WHERE id = 'visit-2'", (NOW + 10 * DAY,)
    )
    clock.advance(405 * DAY.total_seconds())

    erase.run(days=400)

    assert rows_of(world, first.campaign_id) >= {"delivery", "recipient", "direct_send"}
    assert world.database.fetch("SELECT seq FROM delivery") == [(second.seq,)]
    assert world.database.fetch("SELECT seq FROM recipient") == [(second.seq,)]
    assert world.database.fetch("SELECT id FROM direct_send") == [("visit-2",)]
    assert world.counters_equal_rows()


def test_old_words_strikes_lists_and_bookkeeping_go(world, erase, clock):
    keep_signal(world, "old", {"value": {}})
    keep_signal(world, "young", {"value": {}}, at=NOW + 100 * DAY)
    world.conversations.hear([Heard(NUMBER, (PERSON,), NOW, NOW + DAY, None)], now=NOW)
    world.database.fetch("INSERT INTO strike VALUES ('+1', 1, %s), ('+2', 1, %s)",
                         (NOW + 300 * DAY, NOW + 390 * DAY))  # fmt: skip
    for name in ("old", "young"):
        world.suppression_lists.create(name, request_hash="", now=NOW)
        world.database.fetch(
            "UPDATE suppression_list SET finished_at = %s WHERE id = %s",
            (NOW + (100 * DAY if name == "young" else 0 * DAY), name),
        )
        world.database.fetch("INSERT INTO suppression_rejected VALUES (%s, 1, 'is empty')", (name,))
    erase.run(asked())
    clock.advance(401 * DAY.total_seconds())

    erase.run(days=400)

    found = {
        name: [row[0] for row in world.database.fetch(f"SELECT {column} FROM {name}")]
        for name, column in {
            "signal": "digest",
            "conversation": "match_key",
            "strike": "match_key",
            "suppression_list": "id",
            "suppression_rejected": "id",
            "erasure": "id",
        }.items()
    }
    assert found == {
        "signal": ["young"],
        "conversation": [],
        "strike": ["+2"],
        "suppression_list": ["young"],
        "suppression_rejected": ["young"],
        "erasure": [],
    }

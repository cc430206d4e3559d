"""report.handle on real Postgres."""

import json
from datetime import timedelta

import pytest

from functions.report.handler import QUESTIONS, handle
from sluice.adapters.postgres import reports
from sluice.adapters.prices import read_prices
from sluice.domain.delivery import reduce_updates, update_of
from sluice.domain.outcomes import Accepted, Failed
from sluice.domain.results import result_of
from tests.conftest import NOW, NUMBER, OTHER_NUMBER
from tests.integration.functions.ports import samples


@pytest.fixture
def told(world, aws, clock):
    """What the report answers."""

    def told(event):
        return handle(
            event,
            reports=world.reports,
            resends=world.resends,
            messages=aws.parked_messages(),
            prices=read_prices,
            clock=clock,
        )

    return told


@pytest.mark.parametrize("sample", samples("report"))
def test_a_report_sample_is_answered_in_json(world, told, load_event, sample):
    world.campaign(name="vaccination-2026-12")

    answer = told(load_event(f"report/{sample}"))

    assert json.loads(json.dumps(answer)) == answer
    nobody = ("audience", "invalid", "schedule", "test", "unknown_campaign")
    assert ("problem" in answer) == (sample in nobody)


def test_a_report_tells_states_statuses_numbers_and_times(world, told):
    campaign_id = world.campaign(5)
    world.queue(campaign_id, 3)
    world.database.fetch("INSERT INTO rejected VALUES (%s, 9, 'is empty')", (campaign_id,))

    answer = told({"campaign": "reminder"})

    assert answer["state"] == "running"
    assert answer["total"] == 5
    assert answer["states"]["queued"] == 3
    assert answer["states"]["pending"] == 2
    assert set(answer["statuses"]) == {
        "accepted", "held", "sent", "expired", "delivered", "read", "failed",
    }  # fmt: skip
    assert answer["numbers"][NUMBER]["states"]["queued"] == 3
    assert answer["rejected"] == 1
    assert answer["rejected_lines"] == [{"line": 9, "reason": "is empty"}]
    assert answer["created_at"] == answer["loaded_at"] == "2026-03-01T09:00:00+00:00"
    assert answer["finished_at"] is None


def test_a_report_says_loading_until_the_audience_is_loaded(world, told):
    world.campaign()
    world.database.fetch("UPDATE campaign SET loaded_at = NULL")

    assert told({"campaign": "reminder"})["state"] == "loading"


@pytest.mark.parametrize(
    "event",
    [
        {"campaign": ""},
        {"campaign": None},
        {"campaign": ["a"]},
        {"campaign": "reminder", "details": "yes"},
        {"campaign": "reminder", "parked": True},
        {"parked": False},
        {"details": True},
        {"campaigns": "reminder"},
    ],
)
def test_a_report_says_what_may_be_asked(told, event):
    assert told(event) == {"problem": QUESTIONS}


def test_a_report_tells_how_fast_a_campaign_goes_and_when_it_ends(world, told, clock):
    campaign_id, rows = world.sending(600)
    world.reconciliations.note_progress(now=NOW, forget_before=NOW)
    clock.advance(60)
    accept(world, rows[:120], at=clock.now())

    answer = told({"campaign": "reminder"})

    assert (answer["sends_per_second"], answer["over_seconds"]) == (2.0, 60.0)
    assert answer["ends"] == {
        "at": (NOW + timedelta(seconds=60 + 480 / 2)).isoformat(),
        "basis": "measured",
        "waits_for": [],
    }
    assert campaign_id


def accept(world, rows, *, at):
    """Meta takes the messages."""
    policy = world.claims.policy(rows[0].key.campaign_id)
    results = [
        result_of(row, Accepted(f"wamid.{row.key.seq}"), policy, now=at, dice=0.5) for row in rows
    ]
    world.claims.record(results, now=at, patience_seconds=1)


def test_the_list_has_the_newest_campaigns_and_every_number(world, told, clock):
    world.queue(world.campaign(3, name="older"))
    world.campaign(2, name="newer")
    world.orders.pause_number(OTHER_NUMBER, until=NOW + timedelta(hours=1), reason="131048 spam")
    world.stops.throttle_number(NUMBER, now=NOW)
    clock.advance(10)

    answer = told({})

    assert [(one["campaign"], one["total"]) for one in answer["campaigns"]] == [
        ("newer", 2),
        ("older", 3),
    ]
    assert answer["numbers"] == [
        {
            "phone_number_id": NUMBER,
            "state": "active",
            "send_rate": 76.0,
            "rate_factor": pytest.approx(0.55),
            "paused_until": None,
            "pause_reason": None,
            "queued": 3,
            "unsent": 3,
        },
        {
            "phone_number_id": OTHER_NUMBER,
            "state": "active",
            "send_rate": 76.0,
            "rate_factor": 1.0,
            "paused_until": "2026-03-01T10:00:00+00:00",
            "pause_reason": "131048 spam",
            "queued": 0,
            "unsent": 0,
        },
    ]


def test_the_cheap_report_reads_no_delivery(world, told, database):
    world.campaign()
    database.fetch("ALTER TABLE delivery RENAME TO delivery_away")

    told({"campaign": "reminder"})
    told({})


def test_details_tell_attempts_errors_prices_and_times(world, told, clock):
    campaign_id, rows = world.sending(6)
    accept(world, rows[:5], at=NOW)
    policy = world.claims.policy(campaign_id)
    failure = result_of(rows[5], Failed(131026, "not on WhatsApp"), policy, now=NOW, dice=0.5)
    world.claims.record([failure], now=NOW, patience_seconds=1)
    pricing = {"category": "marketing", "type": "regular", "billable": True}
    apply_statuses(world, campaign_id, "sent", [1, 2, 3, 4], after=2, pricing=pricing)
    apply_statuses(world, campaign_id, "delivered", [1, 2, 3], after=6, pricing=pricing)
    free = {"category": "service", "type": "free_customer_service"}
    apply_statuses(world, campaign_id, "delivered", [5], after=6, pricing=free)
    world.database.fetch("INSERT INTO rejected VALUES (%s, 9, 'suppressed: asked')", (campaign_id,))

    details = told({"campaign": "reminder", "details": True})["details"]

    assert details["attempts"] == {"1": 5}
    assert details["first_attempt_success"] == pytest.approx(5 / 6, abs=1e-4)
    assert details["errors"] == [
        {
            "code": 131026,
            "meaning": "undeliverable",
            "answers": 1,
            "deliveries_ended": 1,
            "example": "not on WhatsApp",
        }
    ]
    assert details["billing"]["by_kind"] == [
        {"country_code": 49, "category": "marketing", "messages": 3}
    ]
    assert (details["billing"]["billable"], details["billing"]["free"]) == (3, 1)
    assert details["billing"]["cost"]["known"] is False, "Germany has no price in the list"
    assert details["times"]["sample"] == {"positions": 6, "of": 6, "found": 6}
    assert details["times"]["accepted_to_sent_seconds"] == {
        "messages": 4, "p50": 2.0, "p90": 2.0, "p99": 2.0,
    }  # fmt: skip
    assert details["times"]["sent_to_delivered_seconds"]["p50"] == 4.0
    assert details["suppressed"] == {"at_load": 1, "before_sending": 0}
    assert details["rejected"] == {"suppressed: asked": 1}
    assert details["numbers"][NUMBER]["ended_by_code"] == {"131026": 1}


def apply_statuses(world, campaign_id, kind, seqs, *, after, pricing):
    at = str(int((NOW + timedelta(seconds=after)).timestamp()))
    told = [
        {"id": f"wamid.{seq}", "status": kind, "timestamp": at, "pricing": pricing}
        | {"opaque": f"{campaign_id}:{seq}:1"}
        for seq in seqs
    ]
    updates = reduce_updates(update_of(status) for status in told)
    world.statuses.apply(updates, retries={}, failures=[], now=NOW)


def test_details_that_take_too_long_say_so_and_tell_the_rest(world, told, monkeypatch):
    world.campaign()
    monkeypatch.setattr(reports, "GROUPS", "SELECT pg_sleep(5) WHERE %(campaign_id)s IS NOT NULL")
    monkeypatch.setattr(reports, "REPORT_DETAILS_SECONDS", 0.05)

    answer = told({"campaign": "reminder", "details": True})

    assert answer["details"]["problem"] == "reading every row took longer than 40 s"
    assert answer["details"]["times"]["sample"]["found"] == 3
    assert answer["total"] == 3


def test_a_report_tells_the_next_window_and_the_stage(world, told):
    world.campaign(
        5,
        send_window={"opens": "12:00", "closes": "13:00"},
        time_zone="Europe/Berlin",
        stages=[{"recipients": 2}, {"share": 0.9}],
    )

    answer = told({"campaign": "reminder"})

    assert answer["next_window_at"] == "2026-03-01T11:00:00+00:00"
    assert answer["stage"] == {"number": 1, "of": 2, "released": 0}

"""What Meta may send, from the webhook's door to the rows, and what it may answer.

The scenarios are those of Meta's documentation and of reports about real payloads. The table is
complete: each webhook and each answer among the samples stands in it.
"""

from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from functions.signal.handler import handle as handle_signals
from functions.status.handler import handle as handle_statuses
from functions.webhook.handler import handle as handle_webhook
from sluice.adapters.queues import WebhookOutbox
from sluice.domain.words import BUILT_IN
from tests.conftest import NUMBER
from tests.integration.functions.ports import Telemetry, event_of, failed, samples
from tests.integration.functions.test_webhook import REFUSED
from tests.integration.http_servers import answer
from tests.integration.roads import RunningClock, send

ACCOUNT = "102290129340398"
SECRETS = ["current-app-secret", "previous-app-secret"]


def becomes(rows=None, *, kept=None, orphans=0, **acts):
    """Deliveries by position, signals by field, statuses of nobody, actions by name."""
    return SimpleNamespace(rows=rows or {}, kept=kept or {}, orphans=orphans, acts=acts)


MESSAGE = {"messages": 1}
SCENARIOS = {
    # Statuses.
    "statuses": becomes({0: "delivered", 1: "sent"}),
    "reversed_statuses": becomes({0: "read"}),
    "duplicate_statuses": becomes({0: "delivered"}),
    "read_without_delivered": becomes({0: "read"}),
    "read_then_delivered_twice": becomes({0: "read"}),
    "failed_after_sent": becomes({0: "failed"}),
    "late_sent_after_failed": becomes({0: "failed"}),
    "delivered_after_failed": becomes({0: "delivered"}),
    "played": becomes({0: "read"}),
    "failed": becomes(orphans=1),
    "failed_with_our_id": becomes({0: "failed"}),
    "held_released": becomes({0: "delivered"}),
    "held_dropped": becomes({0: "failed"}),
    "before_the_answer": becomes(orphans=1),
    "user_id_only": becomes({2: "delivered"}),
    "rewritten_wa_id": becomes({3: "delivered"}),
    "many_statuses": becomes(dict.fromkeys(range(100), "read")),
    "two_accounts": becomes(
        {3: "sent"}, kept={"message_template_status_update": 1}, PauseTemplate=1, TellTemplate=1
    ),
    "previous_secret": becomes({0: "delivered", 1: "sent"}),
    "escaped_characters": becomes({0: "sent"}),
    "base64": becomes({0: "delivered", 1: "sent"}),
    "deleted_status": becomes(kept={"statuses": 1}),
    "unknown_status": becomes(kept={"statuses": 1}),
    "wrong_types": becomes(kept={"statuses": 2, "": 4, "messages": 1}),
    # What people say and choose.
    "inbound_message": becomes(kept=MESSAGE, Suppress=1),
    "statuses_and_messages": becomes({0: "read"}, kept=MESSAGE, Suppress=1),
    "inbound_user_id_only": becomes(kept=MESSAGE),
    "inbound_user_id_in_from": becomes(kept=MESSAGE),
    "inbound_without_from": becomes(kept=MESSAGE),
    "inbound_unsupported": becomes(kept=MESSAGE),
    "inbound_twice": becomes(kept=MESSAGE),
    "stop_by_user_id": becomes(kept=MESSAGE, Suppress=1),
    "user_changed_number": becomes(kept=MESSAGE, Move=1),
    "user_changed_user_id": becomes(kept=MESSAGE, Move=1),
    "user_preferences": becomes(kept={"user_preferences": 1}, Suppress=1),
    # Templates, numbers, accounts.
    "template_status": becomes(
        kept={"message_template_status_update": 1}, PauseTemplate=1, TellTemplate=1
    ),
    "template_quality_named_as_status": becomes(
        kept={"message_template_status_update": 1}, WarnOfQuality=1, TellTemplate=1
    ),
    "template_category": becomes(
        kept={"template_category_update": 1}, PauseRecategorised=1, TellTemplate=1
    ),
    "number_error": becomes(kept=MESSAGE, StopSending=1),
    "throughput_upgrade": becomes(kept={"phone_number_quality_update": 1}, SetDailyLimit=1),
    "capability_as_integer": becomes(kept={"business_capability_update": 1}, SetDailyLimit=1),
    "capability_as_tier": becomes(kept={"business_capability_update": 1}, SetDailyLimit=1),
    "account_alert": becomes(kept={"account_alerts": 1}),
    "account_update": becomes(kept={"account_update": 1}, PauseNumbers=1),
}


@pytest.fixture
def meta(world, aws, clock):
    """``bring(sample)`` posts it to the door, and has everything behind it do its work."""
    world.configure(account_id=ACCOUNT)
    world.campaign(100)
    for table in ("recipient", "delivery"):
        world.database.fetch(f"UPDATE {table} SET seq = seq - 1")
    clock.moment = datetime(2026, 12, 1, 12, 0, 5, tzinfo=UTC)
    telemetry = Telemetry()
    outbox = WebhookOutbox(statuses=aws.queue("statuses.fifo"), signals=aws.queue("signals"))

    def bring(event):
        code = handle_webhook(
            event, secrets=lambda _: (SECRETS, "verify-me"), outbox=outbox, telemetry=telemetry
        )["statusCode"]
        shared = {
            "stops": world.stops,
            "parking": aws.parking(),
            "telemetry": telemetry,
            "clock": clock,
        }
        statuses, signals = aws.bodies("statuses.fifo"), aws.bodies("signals")
        if statuses:
            assert not failed(
                handle_statuses(
                    event_of(*statuses), statuses=world.statuses, dice=lambda: 0.5, **shared
                )
            )
        if signals:
            assert not failed(
                handle_signals(
                    event_of(*signals),
                    signals=world.signals,
                    suppressions=world.suppressions,
                    conversations=world.conversations,
                    subscribers=aws.subscribers(),
                    vocabulary=BUILT_IN,
                    limits=world.limits,
                    templates=world.templates,
                    **shared,
                )
            )
        return code

    return SimpleNamespace(bring=bring, telemetry=telemetry)


def what_became(world):
    """(deliveries by position, signals by field, orphans) in the database."""
    rows = world.database.fetch("SELECT seq, status::text FROM delivery WHERE status <> 'none'")
    kept = world.database.fetch("SELECT coalesce(field, '') FROM signal")
    ((orphans,),) = world.database.fetch("SELECT count(*) FROM orphan_status")
    return dict(rows), dict(Counter(name for (name,) in kept)), orphans


def test_every_webhook_among_the_samples_is_in_the_table():
    challenges = {name for name in samples("webhook") if name.startswith("challenge")}

    assert SCENARIOS.keys() == set(samples("webhook")) - challenges - REFUSED.keys()


ACTIONS = ("Suppress", "Lift", "Move", "PauseTemplate", "ResumeTemplate", "PauseRecategorised",
           "WarnOfQuality", "TellTemplate", "PauseNumbers", "ResumeNumbers", "SetDailyLimit",
           "StopSending")  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_ends_in_the_rows_however_often_meta_brings_it(
    meta, world, load_event, scenario
):
    expected = SCENARIOS[scenario]
    for _ in range(2):
        assert meta.bring(load_event(f"webhook/{scenario}")) == 200

        assert what_became(world) == (expected.rows, expected.kept, expected.orphans)

    counts = meta.telemetry.counts()
    assert {name: counts[name] for name in ACTIONS if name in counts} == expected.acts
    assert "Parked" not in counts
    assert "InvalidStatuses" not in counts
    assert world.counters_equal_rows()


ANSWERS = {
    "accepted": ("done", "accepted", None, None),
    "held": ("done", "held", None, None),
    "to_a_user_id": ("done", "accepted", None, None),
    "rewritten_wa_id": ("done", "accepted", None, None),
    "throughput_reached": ("pending", "none", 130429, "number"),
    "being_upgraded": ("pending", "none", 131057, "number"),
    "pair_rate": ("pending", "none", 131056, None),
    "not_eligible_with_500": ("pending", "none", 134102, "campaign"),
    "html_502": ("unknown", "none", None, None),
    "truncated": ("unknown", "none", None, None),
    "error_data_is_text": ("failed", "none", 100, None),
    "error_without_data": ("failed", "none", 100, None),
}
"""State, status and error of the row, and what is paused."""


def test_every_answer_among_the_samples_is_in_the_table():
    assert ANSWERS.keys() == set(samples("answers"))


@pytest.mark.parametrize("scenario", ANSWERS)
def test_an_answer_of_meta_ends_in_the_row_and_is_sent_once(world, serve, load_event, scenario):
    told = load_event(f"answers/{scenario}")
    headers = [f"{name}: {value}" for name, value in told["headers"].items()]
    server = serve(lambda *_: answer(told["body"].encode(), told["status"], *headers))
    campaign_id = world.campaign(1)

    for _ in range(2):
        send(world, server.url, campaign_id, clock=RunningClock())

    row = world.row(campaign_id)
    query = "SELECT 1 FROM number WHERE phone_number_id = %s AND paused_until IS NOT NULL"
    number = "number" if world.database.fetch(query, (NUMBER,)) else None
    ((campaign,),) = world.database.fetch("SELECT state FROM campaign")
    paused = "campaign" if campaign == "paused" else number
    assert (row["state"], row["status"], row["error_code"], paused) == ANSWERS[scenario]
    assert len(server.requests) == 1

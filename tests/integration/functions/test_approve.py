"""approve.handle on real Postgres: who may let a large campaign go, and when."""

import json

import pytest

from functions.report.handler import handle as report
from sluice.adapters.postgres.loads import Loads
from tests.conftest import SetClock
from tests.integration.functions.ports import event_of, failed, parked, reasons, samples
from tests.integration.functions.test_audit import enveloped, sent_by

CAMPAIGN = "vaccination-2026-12"
APPROVE = {"kind": "command", "action": "approve", "campaign": CAMPAIGN}
GRACE = "AROAIENQZJOLO23YVJ4VO:grace"


def decision(sender=GRACE, **changes):
    return sent_by(event_of({**APPROVE, **changes}), sender)


@pytest.fixture
def held(campaign, world, load_event):
    """A campaign that waits for an approval."""
    world.loads = Loads(world.database, approval_above=1)
    campaign.run(load_event("campaign/inline"))
    return world


def told(world, question=None):
    question = {"campaign": CAMPAIGN} if question is None else question
    ports = {"reports": world.reports, "resends": None, "messages": None, "prices": None}
    return report(question, clock=SetClock(), **ports)


@pytest.mark.parametrize("sample", samples("approve"))
def test_a_sample_is_taken_or_parked(approve, held, aws, load_event, sample):
    assert not failed(approve.run(load_event(f"approve/{sample}")))

    assert bool(parked(aws)) is (sample == "another_order")
    expected = {"approve": "given", "decline": "declined"}.get(sample, "awaited")
    assert told(held)["approval"]["state"] == expected


def test_the_report_says_that_a_campaign_awaits_its_approval(held):
    answer = told(held)

    assert (answer["state"], answer["ends"]["waits_for"]) == ("awaiting approval", ["its approval"])
    assert answer["reason"]
    assert answer["approval"]["state"] == "awaited"
    assert len(answer["approval"]["request_hash"]) == 64
    (listed,) = told(held, {})["campaigns"]
    assert listed["state"] == "awaiting approval"


def test_the_report_says_who_approved_and_dispatch_is_woken(approve, held):
    shown = told(held)["approval"]["request_hash"]

    assert not failed(approve.run(decision(request_hash=shown)))

    answer = told(held)
    assert (answer["state"], answer["approval"]["by"]) == ("running", GRACE)
    assert answer["approval"]["at"]
    assert approve.waker.wakes == 1
    newest = told(held, {"audit": {"campaign": CAMPAIGN}})["audit"][0]
    assert (newest["actor"], newest["via"], newest["action"]) == (GRACE, "principal", "approve")


def test_a_decision_that_comes_twice_is_taken_once_and_parked_never(approve, held, aws):
    for _ in range(3):
        assert not failed(approve.run(decision()))

    assert parked(aws) == []
    assert approve.waker.wakes == 1
    rows = told(held, {"audit": {"campaign": CAMPAIGN}})["audit"]
    assert [row["action"] for row in rows].count("approve") == 1


def test_a_declined_campaign_ends_with_the_reason(approve, held):
    approve.run(decision(action="decline", reason="The date is wrong."))

    answer = told(held)
    assert (answer["state"], answer["reason"]) == ("cancelled", "The date is wrong.")
    assert (answer["approval"]["state"], answer["approval"]["by"]) == ("declined", GRACE)


def test_a_campaign_with_another_content_is_not_approved(approve, held, aws):
    approve.run(decision(request_hash="0" * 64))

    assert reasons(aws) == [f"campaign {CAMPAIGN} has another request_hash"]
    assert told(held)["approval"]["state"] == "awaited"


@pytest.mark.parametrize("action", ["approve", "decline"])
def test_what_comes_by_the_topic_is_refused_with_the_reason(command, held, aws, action):
    command.run(event_of(enveloped({**APPROVE, "action": action}, by="grace")))

    assert reasons(aws)[0].startswith("approve and decline do not count by the topic")
    assert told(held)["approval"]["state"] == "awaited"
    newest = told(held, {"audit": {"campaign": CAMPAIGN}})["audit"][0]
    assert (newest["actor"], newest["via"], newest["action"]) == ("grace", "declared", "refused")


@pytest.mark.parametrize(
    "event",
    [
        event_of(APPROVE),
        sent_by(event_of(enveloped(APPROVE, by="grace")), GRACE),
    ],
    ids=["no sender", "an envelope"],
)
def test_who_is_not_named_by_sqs_approves_nothing(approve, held, aws, event):
    approve.run(event)

    assert reasons(aws) == ["nobody can tell who sent this"]
    assert told(held)["approval"]["state"] == "awaited"


@pytest.mark.parametrize("receives", [1, 4, 5])
@pytest.mark.parametrize("loading", [True, False], ids=["loading", "absent"])
def test_an_approval_waits_a_minute_for_what_it_is_about_and_is_void_then(
    approve, campaign, world, aws, load_event, receives, loading
):
    if loading:
        campaign.run(load_event("campaign/inline"))
        world.database.fetch("UPDATE campaign SET loaded_at = NULL")

    answer = approve.run(decision(), receives=receives)

    if receives < 5:
        assert failed(answer)
        assert parked(aws) == []
    else:
        why = f"campaign {CAMPAIGN} is not loaded: only what is loaded can be approved"
        assert reasons(aws) == [why]
    if loading:
        world.loads = Loads(world.database, approval_above=1)
        world.loads.seal(1, now=SetClock().now())
        assert told(world)["state"] == "awaiting approval"


def test_a_campaign_that_is_not_large_needs_no_approval(approve, campaign, world, aws, load_event):
    campaign.run(load_event("campaign/inline"))

    approve.run(decision())

    assert told(world)["approval"] is None
    assert reasons(aws) == [f"campaign {CAMPAIGN} needs no approval"]


def test_a_held_campaign_may_be_tested(held, command, aws, load_event):
    body = json.loads(load_event("command/test")["Records"][0]["body"])

    assert not failed(command.run(event_of(body, kind="command")))

    assert len(aws.bodies("published")) == 1

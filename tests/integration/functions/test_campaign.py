"""campaign.handle on real Postgres: what is carried out, what comes again, what is parked."""

import pytest

from tests.conftest import NUMBER
from tests.integration.functions.ports import failed, parked, reasons, samples

OUTCOMES = {
    "cancel": "again",
    "cancel_number": "parked",
    "expired_before_start": "parked",
    "invalid_fields": "parked",
    "invalid_json": "parked",
    "mismatched_attributes": "parked",
    "pause": "again",
    "resume": "again",
    "unknown_kind": "parked",
}
"""The others are carried out."""


@pytest.mark.parametrize("sample", samples("campaign"))
def test_a_sample_is_carried_out_or_comes_again_or_is_parked(campaign, aws, load_event, sample):
    answer = campaign.run(load_event(f"campaign/{sample}"))

    outcome = "again" if failed(answer) else "parked" if parked(aws) else "done"
    assert outcome == OUTCOMES.get(sample, "done")


def test_a_campaign_that_is_published_twice_is_one(campaign, world, aws, load_event):
    for sample in ("inline", "duplicate"):
        assert not failed(campaign.run(load_event(f"campaign/{sample}")))

    assert world.database.fetch("SELECT count(*) FROM campaign") == [(1,)]
    assert world.database.fetch("SELECT count(*) FROM delivery") == [(3,)]
    assert parked(aws) == []


def test_the_same_id_with_another_content_is_parked_with_the_reason(campaign, aws, load_event):
    campaign.run(load_event("campaign/inline"))

    answer = campaign.run(load_event("campaign/conflict"))

    (envelope,) = parked(aws)
    assert not failed(answer)
    assert envelope["reasons"] == ["campaign vaccination-2026-12 exists with another content"]
    assert envelope["step"] == "campaign"
    assert envelope["attributes"] == {"kind": "campaign"}


def test_invalid_fields_are_all_named(campaign, aws, load_event):
    campaign.run(load_event("campaign/invalid_fields"))

    places = {reason.partition(":")[0] for reason in reasons(aws)}
    assert places >= {"campaign", "template.name", "numbers", "expires_at", "send_window"}


def test_commands_change_the_state_of_their_campaign(campaign, world, load_event):
    campaign.run(load_event("campaign/inline"))
    states = []

    for action in ("pause", "resume", "cancel"):
        campaign.run(load_event(f"campaign/{action}"))
        report = world.reports.campaign("vaccination-2026-12")
        states.append((report["state"], report["reason"]))

    assert states == [
        ("paused", "The clinic asked to wait."),
        ("running", None),
        ("cancelled", None),
    ]
    assert campaign.waker.wakes == 2, "once for the load and once for the resume"


def test_commands_pause_and_resume_a_number(campaign, world, load_event):
    query = "SELECT pause_reason FROM number WHERE phone_number_id = %s"
    campaign.run(load_event("campaign/pause_number"))
    assert world.database.fetch(query, (NUMBER,)) == [("Quality is yellow.",)]

    campaign.run(load_event("campaign/resume_number"))
    assert world.database.fetch(query, (NUMBER,)) == [(None,)]


def test_a_command_for_an_unknown_campaign_comes_again_soon(campaign, aws, load_event):
    event = load_event("campaign/pause")

    answer = campaign.run(event, receives=4)

    (message,) = aws.stored("campaign")
    hidden_seconds = (message.visible_at - message.sent_timestamp) / 1000
    assert failed(answer) == [event["Records"][0]["messageId"]]
    assert hidden_seconds == pytest.approx(15, abs=5)
    assert parked(aws) == []


def test_a_command_for_an_unknown_campaign_is_parked_after_five_receives(campaign, aws, load_event):
    answer = campaign.run(load_event("campaign/pause"), receives=5)

    assert not failed(answer)
    assert reasons(aws) == ["there is no campaign vaccination-2026-12"]


def test_a_chunk_does_not_belong_into_this_queue(campaign, aws, load_event):
    campaign.run(load_event("send/chunk"))

    assert reasons(aws) == ["kind=send does not belong into this queue"]

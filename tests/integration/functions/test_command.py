"""command.handle on real Postgres: what is carried out, what comes again, what is parked."""

import pytest

from tests.conftest import NUMBER
from tests.integration.functions.ports import failed, parked, reasons, samples

OUTCOMES = {
    "cancel": "again",
    "cancel_number": "parked",
    "discard_parked": "again",
    "pause": "again",
    "pause_by_the_topic": "again",
    "prioritise": "again",
    "resend": "again",
    "resend_expired": "again",
    "resume": "again",
    "test": "again",
}
"""The others are carried out. No campaign is there, so orders about one wait for it; nor any parked
message."""


@pytest.mark.parametrize("sample", samples("command"))
def test_a_sample_is_carried_out_or_comes_again_or_is_parked(command, aws, load_event, sample):
    answer = command.run(load_event(f"command/{sample}"))

    outcome = "again" if failed(answer) else "parked" if parked(aws) else "done"
    assert outcome == OUTCOMES.get(sample, "done")


def test_commands_change_the_state_of_their_campaign(campaign, command, world, load_event):
    campaign.run(load_event("campaign/inline"))
    states = []

    for action in ("pause", "resume", "cancel"):
        command.run(load_event(f"command/{action}"))
        report = world.reports.campaign("vaccination-2026-12")
        states.append((report["state"], report["reason"]))

    assert states == [
        ("paused", "The clinic asked to wait."),
        ("running", None),
        ("cancelled", None),
    ]
    assert command.waker.wakes == 1, "for the resume"


def test_commands_pause_and_resume_a_number(command, world, load_event):
    query = "SELECT pause_reason FROM number WHERE phone_number_id = %s"
    command.run(load_event("command/pause_number"))
    assert world.database.fetch(query, (NUMBER,)) == [("Quality is yellow.",)]

    command.run(load_event("command/resume_number"))
    assert world.database.fetch(query, (NUMBER,)) == [(None,)]


def test_a_command_for_an_unknown_campaign_comes_again_soon(command, aws, load_event):
    event = load_event("command/pause")

    answer = command.run(event, receives=4)

    (message,) = aws.stored("command")
    hidden_seconds = (message.visible_at - message.sent_timestamp) / 1000
    assert failed(answer) == [event["Records"][0]["messageId"]]
    assert hidden_seconds == pytest.approx(15, abs=5)
    assert parked(aws) == []


def test_a_command_for_an_unknown_campaign_is_parked_after_five_receives(command, aws, load_event):
    answer = command.run(load_event("command/pause"), receives=5)

    assert not failed(answer)
    assert reasons(aws) == ["there is no campaign vaccination-2026-12"]


def test_a_campaign_becomes_deferrable(campaign, command, world, load_event):
    campaign.run(load_event("campaign/inline"))

    assert not failed(command.run(load_event("command/prioritise")))

    assert world.database.fetch("SELECT priority FROM campaign") == [("deferrable",)]


def test_a_campaign_does_not_belong_into_this_queue(command, aws, load_event):
    command.run(load_event("campaign/inline"))

    assert reasons(aws) == ["kind=campaign does not belong into this queue"]

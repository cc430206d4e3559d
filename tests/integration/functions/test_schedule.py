"""schedule.handle on real Postgres and a simulated EventBridge Scheduler."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from functions.report.handler import handle as handle_report
from functions.schedule.handler import handle
from sluice.adapters.events import Inbox
from sluice.adapters.postgres.schedules import Schedules
from sluice.adapters.prices import read_prices
from sluice.adapters.scheduler import Scheduler
from sluice.domain.models.campaign import CampaignRequest
from sluice.domain.requests import parse
from sluice.domain.schedules import name_of
from tests.conftest import EVENTS, NOW, connect
from tests.integration.functions.ports import (
    Telemetry,
    event_of,
    failed,
    parked,
    reasons,
    samples,
    wait_until_blocked,
)
from tests.integration.functions.test_audit import answer, enveloped, sent_by

ARN = "arn:aws:sqs:us-east-1:123456789012:"
PUT = json.loads(json.loads((EVENTS / "schedule" / "put.json").read_text())["Records"][0]["body"])
OUTCOMES = {
    "drop": "again",
    "pause": "again",
    "resume": "again",
    "start": "again",
    "invalid_expression": "parked",
    "invalid_campaign": "parked",
}
"""No schedule is there, so what is about one waits for it."""


@pytest.fixture
def group(aws):
    """The client of the simulated Scheduler, with our group."""
    client = aws.client("scheduler")
    client.create_schedule_group(Name="schedules")
    return client


@pytest.fixture
def schedule(world, aws, clock, group, requests_topic):
    """``run(event)`` handles messages that were really received."""
    telemetry = Telemetry()
    scheduler = Scheduler(
        group,
        group="schedules",
        queue_arn=f"{ARN}schedule",
        undelivered_arn=f"{ARN}schedule-undelivered",
        role_arn="arn:aws:iam::123456789012:role/scheduler",
    )

    def run(event, *, receives=1, topic=requests_topic, scheduler=scheduler):
        return handle(
            aws.receive("schedule", event, receives=receives),
            schedules=Schedules(world.database),
            scheduler=scheduler,
            topic=topic,
            inbox=Inbox(
                "schedule", aws.queue("schedule"), aws.parking(), None, telemetry, world.audit
            ),
            clock=clock,
        )

    return SimpleNamespace(run=run, telemetry=telemetry, scheduler=scheduler)


@pytest.fixture
def ask(world, clock):
    """What the report says of the schedule."""
    return lambda: handle_report(
        {"schedule": "weekly-reminder"},
        reports=world.reports,
        resends=None,
        messages=None,
        prices=read_prices,
        clock=clock,
    )


def message_of(body, **attributes):
    """An event of one message; the same content is the same message again."""
    event = event_of(body, **attributes)
    event["Records"][0]["messageId"] = json.dumps(body)
    return event


def put(**changes):
    """A schedule, as an event."""
    return message_of({**PUT, **changes}, kind="schedule")


def order(action):
    """An order about it."""
    return message_of({"kind": "schedule", "action": action, "id": PUT["id"]}, kind="schedule")


def due(at=NOW):
    """What Scheduler sends: no attributes."""
    body = {"kind": "schedule", "action": "start", "id": PUT["id"], "at": at.isoformat()}
    return message_of(body)


def known(group):
    """The schedule at AWS."""
    return group.get_schedule(GroupName="schedules", Name=name_of(PUT["id"]))


def published(aws):
    """What reached the topic."""
    return [json.loads(body) for body in aws.bodies("published")]


@pytest.mark.parametrize("sample", samples("schedule"))
def test_a_sample_is_carried_out_or_comes_again_or_is_parked(schedule, aws, load_event, sample):
    answer = schedule.run(load_event(f"schedule/{sample}"))

    outcome = "again" if failed(answer) else "parked" if parked(aws) else "done"
    assert outcome == OUTCOMES.get(sample, "done")


def test_a_schedule_is_put_to_its_group_and_sends_to_the_queue(schedule, group):
    schedule.run(put())

    found = known(group)
    assert found["ScheduleExpression"] == "cron(0 8 ? * MON *)"
    assert found["ScheduleExpressionTimezone"] == "Africa/Nairobi"
    assert (found["State"], found["FlexibleTimeWindow"]) == ("ENABLED", {"Mode": "OFF"})
    assert found["Target"]["Arn"] == f"{ARN}schedule"
    assert found["Target"]["DeadLetterConfig"] == {"Arn": f"{ARN}schedule-undelivered"}
    assert json.loads(found["Target"]["Input"]) == {
        "kind": "schedule",
        "action": "start",
        "id": "weekly-reminder",
        "at": "<aws.scheduler.scheduled-time>",
    }


def test_what_scheduler_sends_starts_a_campaign_that_the_topic_takes(schedule, aws):
    schedule.run(put())

    schedule.run(due())

    (request,) = published(aws)
    assert request["campaign"] == "weekly-reminder:2026-03-01T09:00:00Z"
    assert request["expires_at"] == "2026-03-01T21:00:00+00:00"
    assert isinstance(parse(json.dumps(request), {"kind": "campaign"}), CampaignRequest)


def test_a_start_that_is_told_twice_is_one(schedule, aws, clock):
    schedule.run(put())
    schedule.run(due())
    clock.advance(7200)

    schedule.run(due())

    assert len(published(aws)) == 1
    assert schedule.telemetry.counts()["StartsPublished"] == 1


def test_who_died_before_the_campaign_was_published_publishes_what_was_decided(
    schedule, aws, clock
):
    schedule.run(put())

    class Away:
        def publish_campaign(self, _request, **_by):
            raise ConnectionError

    with pytest.raises(ConnectionError):
        schedule.run(due(), topic=Away())
    clock.advance(7200)
    schedule.run(put(revision=2, expires_after_seconds=60))

    schedule.run(due())

    (request,) = published(aws)
    assert request["expires_at"] == "2026-03-01T21:00:00+00:00", "as it was decided"


@pytest.mark.parametrize(
    ("policy", "started"), [("skip", 0), ("start_late", 1)], ids=["skip", "start_late"]
)
def test_a_start_that_is_seen_too_late_follows_the_policy(
    schedule, aws, clock, ask, policy, started
):
    schedule.run(put(missed_start={"policy": policy, "tolerance_seconds": 600}))
    clock.advance(601)

    schedule.run(due())

    (told,) = ask()["starts"]
    why = None if started else "seen 601 s after its time, over the tolerance of 600 s"
    assert told["skipped"] == why
    assert len(published(aws)) == started


@pytest.mark.parametrize(("overlap", "started"), [("skip", 0), ("start", 1)])
def test_a_start_while_the_former_campaign_runs_follows_the_overlap(
    schedule, aws, world, clock, ask, overlap, started
):
    schedule.run(put(overlap=overlap))
    schedule.run(due())
    former = published(aws)[0]["campaign"]
    world.campaign(name=former)
    clock.advance(7 * 86_400)

    schedule.run(due(clock.now()))

    newest, oldest = ask()["starts"]
    assert newest["skipped"] == (None if started else f"{former} is not finished")
    assert (oldest["campaign"], oldest["campaign_state"]) == (former, "running")
    assert len(published(aws)) == started


@pytest.mark.parametrize(
    ("passed_seconds", "started"), [(60, 0), (901, 1)], ids=["not yet there", "refused"]
)
def test_a_campaign_that_is_not_there_counts_for_as_long_as_it_may_be_on_its_way(
    schedule, aws, clock, passed_seconds, started
):
    schedule.run(put())
    schedule.run(due())
    published(aws)
    clock.advance(passed_seconds)

    schedule.run(due(clock.now()))

    assert len(published(aws)) == started


def test_when_the_former_campaign_is_finished_the_next_one_starts(schedule, aws, world, clock):
    schedule.run(put())
    schedule.run(due())
    world.campaign(name=published(aws)[0]["campaign"])
    world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = %s", (NOW,))
    clock.advance(7 * 86_400)

    schedule.run(due(clock.now()))

    assert len(published(aws)) == 1


def test_a_paused_schedule_starts_nothing_until_it_is_resumed(schedule, aws, group, ask, clock):
    schedule.run(put())

    schedule.run(order("pause"))
    assert known(group)["State"] == "DISABLED"
    schedule.run(due())
    assert (ask()["state"], published(aws)) == ("paused", [])

    schedule.run(order("resume"))
    assert known(group)["State"] == "ENABLED"
    clock.advance(60)
    schedule.run(due(clock.now()))
    assert [one["skipped"] for one in ask()["starts"]] == [None, "the schedule is paused"]


def test_a_change_of_a_paused_schedule_leaves_it_paused(schedule, group, ask):
    schedule.run(put())
    schedule.run(order("pause"))

    schedule.run(put(revision=2, expression="rate(1 day)"))

    assert (known(group)["State"], ask()["state"]) == ("DISABLED", "paused")
    assert known(group)["ScheduleExpression"] == "rate(1 day)"


def test_a_dropped_schedule_is_gone_at_aws_and_what_comes_late_starts_nothing(
    schedule, aws, group, ask
):
    schedule.run(put())

    for _ in range(2):
        schedule.run(order("drop"))
    schedule.run(due())

    with pytest.raises(group.exceptions.ResourceNotFoundException):
        known(group)
    assert published(aws) == []
    assert (ask()["state"], ask()["starts"][0]["skipped"]) == (
        "dropped",
        "the schedule is dropped",
    )


def test_a_dropped_schedule_is_not_resumed_but_a_higher_revision_puts_it_again(
    schedule, aws, group, ask
):
    schedule.run(put())
    schedule.run(order("drop"))

    schedule.run(order("resume"))
    assert reasons(aws) == ["the schedule weekly-reminder is dropped"]
    schedule.run(put())
    assert ask()["state"] == "dropped", "the same revision, brought late"

    schedule.run(put(revision=2))
    assert (ask()["state"], known(group)["State"]) == ("active", "ENABLED")


def test_of_two_revisions_the_higher_one_counts_in_whatever_order_they_come(schedule, group, ask):
    schedule.run(put(revision=2, expression="rate(2 days)"))

    answer = schedule.run(put(revision=1))

    assert not failed(answer)
    assert known(group)["ScheduleExpression"] == "rate(2 days)"
    assert (ask()["revision"], ask()["expression"]) == (2, "rate(2 days)")


def test_a_revision_with_another_content_is_refused(schedule, aws):
    schedule.run(put())

    schedule.run(put(expression="rate(2 days)"))

    assert reasons(aws) == ["revision 1 exists with another content"]


class Refusing:
    """A client of Scheduler that refuses what it is told to create."""

    def __init__(self, real, code):
        self.exceptions = real.exceptions
        self.delete_schedule = real.delete_schedule
        self.error = {"Error": {"Code": code, "Message": "Invalid Schedule Expression."}}

    def update_schedule(self, **_definition):
        raise ClientError(self.error, "UpdateSchedule")


def test_what_scheduler_refuses_is_parked_with_aws_s_reason(schedule, aws, group, ask):
    schedule.scheduler._client = Refusing(group, "ValidationException")

    schedule.run(put())

    assert reasons(aws) == ["EventBridge Scheduler: Invalid Schedule Expression."]
    assert ask() == {"problem": "there is no schedule weekly-reminder"}


def test_while_scheduler_is_away_the_message_comes_again_and_nothing_is_stored(
    schedule, group, ask
):
    schedule.scheduler._client = Refusing(group, "ThrottlingException")

    with pytest.raises(ClientError):
        schedule.run(put())

    assert "problem" in ask()
    schedule.scheduler._client = group
    schedule.run(put())
    assert ask()["state"] == "active"


def test_a_put_that_died_before_it_was_stored_is_done_again(schedule, group, ask):
    class Dying(Scheduler):
        def put(self, *arguments, **more):
            super().put(*arguments, **more)
            raise ConnectionError

    dying = Dying.__new__(Dying)
    dying.__dict__ |= schedule.scheduler.__dict__
    with pytest.raises(ConnectionError):
        schedule.run(put(), scheduler=dying)
    assert (known(group)["State"], "problem" in ask()) == ("ENABLED", True)

    schedule.run(put())

    assert ask()["state"] == "active"


def test_two_that_change_a_schedule_at_once_go_one_after_the_other(world, database_url):
    other = connect(database_url)

    def revise(database, revision):
        with Schedules(database).held(PUT["id"]) as held:
            seen = held.stored
            if revision == 1:
                following.append(pool.submit(revise, other, 2))
                wait_until_blocked(database)
            held.store(PUT, revision=revision, request_hash="", state="active", now=NOW)
        return seen

    following = []
    with ThreadPoolExecutor() as pool:
        revise(world.database, 1)
        assert following[0].result(timeout=10).revision == 1
    assert world.reports.schedule(PUT["id"])["revision"] == 2
    other.close()


def test_a_time_that_is_over_is_refused(schedule, aws):
    schedule.run(put(expression="at(2026-03-01T11:59:00)"))

    assert reasons(aws) == ["at(2026-03-01T11:59:00) is over"]


def test_a_beginning_that_is_over_is_not_told_to_scheduler(schedule, group, clock):
    begins = datetime.fromisoformat("2090-03-01T10:00:00+00:00")
    schedule.run(put(starts_at=begins.isoformat(), ends_at=None))
    assert known(group)["StartDate"] == begins
    clock.advance((begins - NOW).total_seconds())

    schedule.run(order("pause"))

    assert "StartDate" not in known(group)


@pytest.mark.parametrize("receives", [4, 5])
def test_what_overtakes_its_schedule_waits_about_a_minute(schedule, aws, receives):
    answer = schedule.run(due(), receives=receives)

    assert bool(failed(answer)) == (receives < 5)
    assert reasons(aws) == ([] if receives < 5 else ["there is no schedule weekly-reminder"])


def test_a_campaign_does_not_belong_into_this_queue(schedule, aws, load_event):
    schedule.run(load_event("campaign/inline"))

    assert reasons(aws) == ["kind=campaign does not belong into this queue"]


ROLE = "AROASCHEDULER:weekly-reminder"


def told_by(body, message_id, at):
    """What was published to the topic, then."""
    envelope = enveloped(body, message_id=message_id, by="ada")
    return event_of({**envelope, "Timestamp": at.isoformat()})


def change_by(action, message_id, at=NOW):
    return told_by({"kind": "schedule", "action": action, "id": PUT["id"]}, message_id, at)


def noted(world):
    """Who did what to the schedule, the oldest first."""
    rows = answer(world, {"schedule": PUT["id"]})["audit"]
    return [(row["actor"], row["action"], row["details"]) for row in reversed(rows)]


def test_every_order_and_every_start_is_noted_once(schedule, world, clock):
    put_by = told_by(PUT, "sns-1", NOW)
    for _ in range(2):
        schedule.run(put_by)
        schedule.run(sent_by(due(), ROLE))
        schedule.run(change_by("pause", "sns-2"))
        clock.advance(7200)
    schedule.run(change_by("drop", "sns-3"))

    shown = {name: PUT[name] for name in ("revision", "expression", "time_zone")}
    assert noted(world) == [
        ("ada", "put", shown),
        (ROLE, "start", {"at": NOW.isoformat()}),
        ("ada", "pause", {}),
        ("ada", "drop", {}),
    ]


def test_the_campaign_of_a_start_says_which_schedule_published_it(schedule, aws):
    schedule.run(put())
    schedule.run(due())

    (letter,) = aws.letters("published")
    assert letter.attributes == {"kind": "campaign", "by": "schedule weekly-reminder"}


def test_what_is_refused_is_noted_of_its_schedule(schedule, world):
    schedule.run(told_by({**PUT, "expression": "daily"}, "sns-1", NOW))

    ((actor, action, details),) = noted(world)
    assert (actor, action, details["step"]) == ("ada", "refused", "schedule")


@pytest.mark.parametrize("message_id", ["sns-1", "sns-0"], ids=["again", "late"])
def test_a_pause_that_comes_after_a_newer_resume_pauses_nothing(schedule, group, ask, message_id):
    schedule.run(put())
    schedule.run(change_by("pause", "sns-1"))
    schedule.run(change_by("resume", "sns-2", NOW + timedelta(seconds=9)))

    schedule.run(change_by("pause", message_id, NOW + timedelta(seconds=1)))

    assert (ask()["state"], known(group)["State"]) == ("active", "ENABLED")


def test_a_put_that_comes_after_a_newer_drop_puts_nothing(schedule, group, ask):
    schedule.run(told_by(PUT, "sns-1", NOW))
    schedule.run(change_by("drop", "sns-3", NOW + timedelta(seconds=2)))

    schedule.run(told_by({**PUT, "revision": 2}, "sns-2", NOW + timedelta(seconds=1)))

    assert ask()["state"] == "dropped"
    with pytest.raises(group.exceptions.ResourceNotFoundException):
        known(group)


def test_a_drop_that_comes_after_a_newer_put_drops_nothing(schedule, group, ask):
    schedule.run(told_by(PUT, "sns-1", NOW))
    schedule.run(told_by({**PUT, "revision": 2}, "sns-3", NOW + timedelta(seconds=2)))

    schedule.run(change_by("drop", "sns-2", NOW + timedelta(seconds=1)))

    assert (ask()["state"], ask()["revision"]) == ("active", 2)
    assert known(group)["State"] == "ENABLED"

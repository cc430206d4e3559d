"""Expressions, names and decisions of schedules."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.models.schedule import SchedulePut
from sluice.domain.requests import parse
from sluice.domain.schedules import (
    StoredSchedule,
    campaign_id_of,
    decide,
    expression_problem,
    name_of,
)
from tests.conftest import EVENTS

AT = datetime(2026, 12, 7, 5, tzinfo=UTC)
PUT = json.loads(json.loads((EVENTS / "schedule" / "put.json").read_text())["Records"][0]["body"])


@pytest.mark.parametrize(
    "expression",
    [
        "cron(0 8 ? * MON *)",
        "cron(0/15 8-17 ? * MON-FRI *)",
        "cron(30 9 L * ? 2027)",
        "cron(0 10 ? * 6#3 2026-2030)",
        "cron(15 12 1W JAN,JUL ? *)",
        "rate(1 day)",
        "rate(12 hours)",
        "at(2026-12-01T08:00:00)",
    ],
)
def test_an_expression_of_aws_is_taken(expression):
    assert expression_problem(expression) is None


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("0 8 * * 1", "is none of cron(…), rate(…), at(…)"),
        ("cron(0 8 * * MON)", "a cron has six fields, not 5"),
        ("cron(0 8 * * MON *)", "exactly one of day of month and day of week is ?"),
        ("cron(0 8 ? * ? *)", "exactly one of day of month and day of week is ?"),
        ("cron(60 8 ? * MON *)", "60 is no minutes"),
        ("cron(0 24 ? * MON *)", "24 is no hours"),
        ("cron(0 8 ? 13 MON *)", "13 is no month"),
        ("cron(0 8 ? * 0 *)", "0 is no day of week"),
        ("cron(0 8 ? * MON 26)", "26 is no year"),
        ("rate(0 days)", "a rate is as in rate(1 day), rate(12 hours)"),
        ("rate(1 week)", "a rate is as in rate(1 day), rate(12 hours)"),
        ("at(2026-12-01 08:00)", "a time is as in at(2026-12-01T08:00:00)"),
        ("at(2026-02-30T08:00:00)", "a time is as in at(2026-12-01T08:00:00)"),
    ],
)
def test_a_bad_expression_is_told_with_what_is_wrong(expression, problem):
    assert expression_problem(expression) == problem


@pytest.mark.parametrize("schedule_id", ["a", "weekly:reminder", "x" * 100, "x" * 99 + "y"])
def test_a_name_is_one_that_aws_takes(schedule_id):
    assert re.fullmatch(r"[0-9A-Za-z_.-]{1,64}", name_of(schedule_id))


def test_ids_that_look_alike_have_different_names():
    assert len({name_of(one) for one in ("a:b", "a-b", "x" * 99 + "y", "x" * 100)}) == 4


def test_a_start_has_one_id_however_its_time_is_written():
    cairo = datetime.fromisoformat("2026-12-07T07:00:00+02:00")
    assert campaign_id_of("weekly", AT) == campaign_id_of("weekly", cairo)
    assert campaign_id_of("weekly", AT) == "weekly:2026-12-07T05:00:00Z"


def schedule(state="active", policy="skip", overlap="skip"):
    missed = {"policy": policy, "tolerance_seconds": 900}
    return StoredSchedule(1, "", {"missed_start": missed, "overlap": overlap}, state)


@pytest.mark.parametrize(
    ("told", "late_seconds", "unfinished", "reason"),
    [
        (schedule(), 900, None, None),
        (schedule(), 901, None, "seen 901 s after its time, over the tolerance of 900 s"),
        (schedule(policy="start_late"), 80_000, None, None),
        (schedule(), 5, "weekly:1", "weekly:1 is not finished"),
        (schedule(overlap="start"), 5, "weekly:1", None),
        (schedule("paused"), 5, None, "the schedule is paused"),
        (schedule("dropped"), 5, None, "the schedule is dropped"),
    ],
)
def test_a_start_is_left_out_with_its_reason(told, late_seconds, unfinished, reason):
    now = AT + timedelta(seconds=late_seconds)

    assert decide(told, at=AT, now=now, unfinished=unfinished) == reason


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"expression": "cron(0 8 * * MON *)"}, "expression: exactly one of day of month"),
        ({"time_zone": "Nairobi"}, "time_zone: is not the name of an IANA time zone"),
        ({"ends_at": "2026-01-01T00:00:00Z", "starts_at": "2026-01-02T00:00:00Z"}, "ends_at is"),
        ({"campaign": {**PUT["campaign"], "numbers": []}}, "campaign: numbers: "),
        ({"campaign": {**PUT["campaign"], "campaign": "mine"}}, "campaign: campaign: each start"),
        ({"campaign": {**PUT["campaign"], "start_at": None}}, "campaign: start_at: each start"),
        (
            {"campaign": {**PUT["campaign"], "audience": {"recipients": []}}},
            "campaign: audience: the people are in a file",
        ),
        ({"missed_start": {"policy": "guess"}}, "missed_start.policy: "),
    ],
)
def test_a_schedule_that_could_not_start_anything_is_refused(changes, problem):
    (told,) = parse(json.dumps(PUT | changes), {"kind": "schedule"})

    assert problem in str(told)


@pytest.mark.parametrize(
    ("expression", "over"),
    [("at(2026-12-07T07:59:59)", True), ("at(2026-12-07T08:00:01)", False), ("rate(1 day)", False)],
)
def test_a_time_is_over_by_the_clock_of_its_zone(expression, over):
    put = SchedulePut.model_validate_json(json.dumps(PUT | {"expression": expression}))

    assert put.is_over(AT) is over

"""The shapes of what may be published, field by field."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.domain.limits import CHUNK_DELIVERIES_MAX, CHUNK_RECIPIENTS_MAX, RECIPIENTS_INLINE_MAX
from sluice.domain.requests import (
    CampaignRequest,
    Chunk,
    Command,
    InlineAudience,
    Request,
    SaveAudience,
    SendRequest,
    StoredAudience,
    parse,
)

ADA = {"address": "+12025550101", "parameters": {"name": "Ada"}}
TEMPLATE = {
    "name": "hello",
    "language": "en_US",
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "{{name}}"}]}],
}
CAMPAIGN = {
    "campaign": "hello-2026-12",
    "template": TEMPLATE,
    "numbers": ["106540352242922"],
    "audience": {"recipients": [ADA]},
}
SEND = {
    "id": "hello-1",
    "phone_number_id": "106540352242922",
    "recipients": [ADA],
    "template": TEMPLATE,
}
CHUNK = {"campaign_id": 12, "seqs": [0, 1, 5]}


def parsed(kind: str, document: dict[str, Any], **attributes: str) -> Request:
    request = parse(json.dumps(document), {"kind": kind, **attributes})
    assert not isinstance(request, list), [str(problem) for problem in request]
    return request


def refused(kind: str, document: Any, **attributes: str) -> list[str]:
    problems = parse(json.dumps(document), {"kind": kind, **attributes})
    assert isinstance(problems, list)
    return [str(problem) for problem in problems]


def test_a_campaign_needs_only_what_has_no_default() -> None:
    request = parsed("campaign", CAMPAIGN)
    assert isinstance(request, CampaignRequest)
    assert isinstance(request.audience, InlineAudience)
    assert (request.priority, request.unknown_policy, request.category) == (
        "normal",
        "leave",
        "marketing",
    )
    assert (request.max_attempts, request.unknown_window_seconds) == (5, 900)


def test_an_audience_may_be_a_file_in_s3() -> None:
    request = parsed("campaign", CAMPAIGN | {"audience": {"s3": "s3://audiences/all.csv"}})
    assert isinstance(request, CampaignRequest)
    assert request.audience == StoredAudience(s3="s3://audiences/all.csv")


def test_times_are_kept_in_utc() -> None:
    request = parsed("campaign", CAMPAIGN | {"start_at": "2026-12-01T08:00:00+01:00"})
    assert isinstance(request, CampaignRequest)
    assert request.start_at == datetime(2026, 12, 1, 7, tzinfo=UTC)
    assert request.start_at.tzinfo is UTC


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"campaign": ""}, "campaign"),
        ({"campaign": "white space"}, "campaign"),
        ({"campaign": "a" * 129}, "campaign"),
        ({"campaign": "line\n"}, "campaign"),
        ({"template": {"name": "Hello", "language": "en_US"}}, "template.name"),
        ({"template": {"name": "hello", "language": "english please"}}, "template.language"),
        ({"template": TEMPLATE | {"components": [{"text": "{{ }}"}]}}, "template"),
        ({"numbers": []}, "numbers"),
        ({"numbers": ["+1"]}, "numbers.0"),
        ({"numbers": [106540352242922]}, "numbers.0"),
        ({"numbers": ["1", "1"]}, "numbers"),
        ({"numbers": [str(number) for number in range(101)]}, "numbers"),
        ({"audience": {}}, "audience.recipients"),
        ({"audience": 5}, "audience"),
        ({"audience": {"recipients": []}}, "audience.recipients"),
        ({"audience": {"recipients": [ADA] * (RECIPIENTS_INLINE_MAX + 1)}}, "audience.recipients"),
        ({"audience": {"recipients": [{"address": 5}]}}, "audience.recipients.0.address"),
        ({"audience": {"s3": "https://audiences/all.csv"}}, "audience.s3"),
        ({"audience": {"s3": "s3://audiences/a", "format": "xlsx"}}, "audience.format"),
        ({"audience": {"s3": "s3://audiences/a", "recipients": [ADA]}}, "audience.recipients"),
        ({"priority": "urgent"}, "priority"),
        ({"start_at": "2026-12-01T08:00:00"}, "start_at"),
        ({"start_at": 1796126400}, "start_at"),
        ({"unknown_policy": "maybe"}, "unknown_policy"),
        ({"unknown_window_seconds": 5}, "unknown_window_seconds"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": "5"}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"category": "spam"}, "category"),
        ({"send_window": "09:00-20:00"}, "send_window"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_field_that_does_not_fit_is_named(change: dict[str, Any], path: str) -> None:
    paths = [problem.partition(":")[0] for problem in refused("campaign", CAMPAIGN | change)]
    assert path in paths


def test_a_campaign_must_not_expire_before_it_starts() -> None:
    times = {"start_at": "2026-12-02T00:00:00Z", "expires_at": "2026-12-01T00:00:00Z"}
    assert refused("campaign", CAMPAIGN | times) == ["expires_at is not after start_at"]


def test_a_recipient_may_be_fixed_only_to_a_number_of_the_campaign() -> None:
    audience = {"recipients": [ADA | {"phone_number_id": "5"}]}
    assert refused("campaign", CAMPAIGN | {"audience": audience}) == [
        "a recipient's phone_number_id is not among the numbers"
    ]


def test_a_send_goes_to_the_conversation_lane_unless_it_says_otherwise() -> None:
    request = parsed("send", SEND)
    assert isinstance(request, SendRequest)
    assert request.lane == "conversation"


def test_a_send_may_bring_a_free_form_message() -> None:
    message = {"type": "text", "text": {"body": "Hello"}}
    request = parsed("send", {**SEND, "template": None, "message": message})
    assert isinstance(request, SendRequest)
    assert request.message == message


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"template": None}, "exactly one of template and message is needed"),
        ({"message": {"type": "text"}}, "exactly one of template and message is needed"),
        ({"template": None, "message": {"text": "Hello"}}, "message has no type"),
        (
            {"recipients": [ADA | {"phone_number_id": "5"}]},
            "a recipient's phone_number_id is another number",
        ),
    ],
)
def test_a_send_that_contradicts_itself_is_refused(change: dict[str, Any], problem: str) -> None:
    assert refused("send", SEND | change) == [problem]


def test_a_send_takes_as_many_people_as_a_chunk() -> None:
    parsed("send", SEND | {"recipients": [ADA] * CHUNK_RECIPIENTS_MAX})
    assert refused("send", SEND | {"recipients": [ADA] * (CHUNK_RECIPIENTS_MAX + 1)})


def test_a_chunk_of_dispatch_names_rows() -> None:
    assert parsed("send", CHUNK, phone_number_id="1", lane="bulk") == Chunk(
        campaign_id=12, seqs=(0, 1, 5)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"seqs": []},
        {"seqs": [1, 1]},
        {"seqs": [2, 1]},
        {"seqs": [-1]},
        {"seqs": [2**31]},
        {"seqs": list(range(CHUNK_DELIVERIES_MAX + 1))},
        {"seqs": [1.0]},
        {"campaign_id": "12"},
        {"campaign_id": 2**63},
        {"recipients": [ADA]},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_chunk_that_no_dispatch_writes_is_refused(change: dict[str, Any]) -> None:
    assert refused("send", CHUNK | change)


@pytest.mark.parametrize("action", ["pause", "resume", "cancel"])
def test_a_campaign_can_be_paused_resumed_and_cancelled(action: str) -> None:
    request = parsed("command", {"action": action, "campaign": "hello-2026-12"})
    assert isinstance(request, Command)
    assert request.action == action


ACTIONS = "approve, cancel, decline, discard, pause, prioritise, resend, resume, return, test"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"action": "cancel"}, "campaign: Field required"),
        ({"action": "prioritise", "campaign": "a"}, "priority: Field required"),
        ({"action": "stop"}, f"action: is none of {ACTIONS}"),
        ({}, f"action: is none of {ACTIONS}"),
        ({"action": "return"}, "parked: Field required"),
        ({"action": "pause"}, "exactly one of campaign and phone_number_id is needed"),
        (
            {"action": "pause", "campaign": "a", "phone_number_id": "1"},
            "exactly one of campaign and phone_number_id is needed",
        ),
    ],
)
def test_a_command_is_about_one_thing(command: dict[str, Any], problem: str) -> None:
    assert refused("command", command) == [problem]


WINDOW: dict[str, Any] = {
    "send_window": {"opens": "09:00", "closes": "20:00"},
    "time_zone": "Europe/Berlin",
}


def test_a_window_is_open_on_all_days_unless_some_are_named() -> None:
    request = parsed("campaign", CAMPAIGN | WINDOW)
    assert isinstance(request, CampaignRequest)
    assert request.send_window is not None
    assert len(request.send_window.days) == 7
    assert request.timed


def test_quiet_hours_are_stored_under_the_names_that_were_published() -> None:
    quiet = [{"from": "22:00", "to": "06:00"}]
    request = parsed("campaign", CAMPAIGN | {"quiet_hours": quiet, "time_zone": "UTC"})
    assert json.loads(request.model_dump_json())["quiet_hours"] == quiet


def test_a_recipient_of_a_campaign_may_have_a_time_zone_and_one_of_a_send_may_not() -> None:
    ada = ADA | {"time_zone": "Asia/Tokyo"}
    parsed("campaign", CAMPAIGN | WINDOW | {"audience": {"recipients": [ada]}})
    assert refused("send", SEND | {"recipients": [ada]})[0] == (
        "recipients.0.time_zone: Extra inputs are not permitted"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"time_zone": None}, "send_window and quiet_hours need a time_zone"),
        ({"time_zone": "Berlin"}, "time_zone: is not the name of an IANA time zone"),
        (
            {"quiet_hours": [{"from": "08:00", "to": "21:00"}]},
            "quiet_hours leave nothing of the send_window",
        ),
        (
            {"send_window": {"opens": "09:00", "closes": "09:00"}},
            "send_window: begins when it ends; a whole day is 00:00 to 24:00",
        ),
        (
            {"send_window": {"opens": "09:00", "closes": "20:00", "days": ["mon", "mon"]}},
            "send_window.days: an element appears twice",
        ),
        (
            {"audience": {"recipients": [ADA | {"time_zone": "Tokyo"}]}},
            "audience.recipients.0.time_zone: is not the name of an IANA time zone",
        ),
        (
            {"stages": [{"recipients": 500}, {"recipients": 100}]},
            "stages: each stage must be larger than the one before",
        ),
        (
            {"stages": [{"share": 0.1}, {"recipients": 500}, {"share": 0.1}]},
            "stages: each stage must be larger than the one before",
        ),
        ({"stages": [{}]}, "stages.0: exactly one of recipients and share is needed"),
    ],
)
def test_a_window_and_stages_must_make_sense(change: dict[str, Any], reason: str) -> None:
    assert refused("campaign", CAMPAIGN | WINDOW | change)[0] == reason


@pytest.mark.parametrize("clock", ["9:00", "24:01", "25:00", "09:60", "noon", ""])
def test_a_time_of_the_day_has_two_digits_twice(clock: str) -> None:
    for window in ({"opens": clock, "closes": "20:00"}, {"opens": "08:00", "closes": clock}):
        assert refused("campaign", CAMPAIGN | WINDOW | {"send_window": window})


def test_stages_have_defaults_and_may_be_counted_or_a_share() -> None:
    stages = [{"recipients": 500}, {"share": 0.1, "failure_rate_max": 0, "wait_seconds": 60}]
    request = parsed("campaign", CAMPAIGN | {"stages": stages})
    assert isinstance(request, CampaignRequest)
    assert [(one.failure_rate_max, one.wait_seconds) for one in request.stages] == [
        (0.05, 600),
        (0, 60),
    ]
    assert refused("campaign", CAMPAIGN | {"stages": [{"recipients": n} for n in range(1, 12)]})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"audience": {"saved": "a b"}}, "audience.saved: String should match pattern"),
        ({"audience": {"saved": "a", "s3": "s3://people/a.csv"}}, "audience.saved: Extra inputs"),
        ({"exclude": [{}]}, "exclude.0.saved: Field required"),
        ({"exclude": [{"saved": "a", "campaign": "b"}]}, "exclude.0.saved: Extra inputs"),
        ({"exclude": [{"campaign": "a", "who": "read"}]}, "exclude.0.who: Input should be"),
        ({"exclude": [{"campaign": CAMPAIGN["campaign"]}]}, "a campaign cannot exclude its own"),
        ({"exclude": [{"saved": "a"}] * 21}, "exclude: Tuple should have at most 20 items"),
    ],
)
def test_lists_that_a_campaign_names_are_told_by_their_place(
    change: dict[str, Any], problem: str
) -> None:
    assert refused("campaign", CAMPAIGN | change)[0].startswith(problem)


@pytest.mark.parametrize(
    ("audience", "problem"),
    [
        ({"id": "a"}, "s3: Field required"),
        ({"id": "a", "action": "keep"}, "action: is none of drop, save"),
        ({"id": "a", "action": 5}, "action: is none of drop, save"),
        ({"id": "a", "action": "drop", "s3": "s3://people/a.csv"}, "s3: Extra inputs"),
    ],
)
def test_an_audience_is_saved_unless_it_is_dropped(audience: dict[str, Any], problem: str) -> None:
    assert refused("audience", audience)[0].startswith(problem)
    request = parsed("audience", {"id": "a", "s3": "s3://people/a.csv"})
    assert isinstance(request, SaveAudience)
    assert request.action == "save"


A = {"name": "a", "share": 0.5}


@pytest.mark.parametrize(
    ("split", "problem"),
    [
        ({}, "split: a holdout or variants are needed"),
        ({"variants": [A, A]}, "split: two variants have the same name"),
        (
            {"holdout": 0.1, "variants": [A, {"name": "b", "share": 0.6}]},
            "split: the shares of the variants sum to 1.1, more than 1",
        ),
        ({"holdout": 1}, "split.holdout: Input should be less than 1"),
        ({"variants": [{"name": "a", "share": 0}]}, "split.variants.0.share: Input should be"),
        ({"variants": [{"name": "a:b", "share": 1}]}, "split.variants.0.name: String should"),
        ({"variants": [A | {"template": {}}]}, "split.variants.0.template.name: Field required"),
    ],
)
def test_a_split_must_make_sense(split: dict[str, Any], problem: str) -> None:
    assert refused("campaign", CAMPAIGN | {"split": split})[0].startswith(problem)


def test_tenths_may_sum_to_one() -> None:
    variants = [{"name": str(place), "share": 0.1} for place in range(10)]
    request = parsed("campaign", CAMPAIGN | {"split": {"variants": variants}})
    assert isinstance(request, CampaignRequest)
    assert request.sides is not None
    assert (request.sides.key, request.sides.edges[-1]) == ("hello-2026-12", 1)

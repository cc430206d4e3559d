"""What errors and answers of the Cloud API come to."""

import json
from typing import Any

import pytest

from sluice.domain.errors import (
    ERRORS,
    Accepted,
    Failed,
    Outcome,
    PauseAccount,
    PauseCampaign,
    PauseNumber,
    Retry,
    Throttled,
    Unknown,
    classify,
    classify_answer,
    details_of,
    wait_seconds_of,
)

DAY = 86_400


def graph_error(code: object, **more: Any) -> bytes:
    return json.dumps({"error": {"message": "(#1) Something", "code": code, **more}}).encode()


@pytest.mark.parametrize("code", [300, 131999, 999_999, -1])
def test_an_unknown_code_is_final_and_loud(code: int) -> None:
    assert classify(code, "?") == Failed(code, "?", recognised=False, systemic=True)


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_code_keeps_its_number_and_details(code: int) -> None:
    refusal = classify(code, "words")
    assert (refusal.code, refusal.details) == (code, "words")


@pytest.mark.parametrize("code", [100, 131009])
@pytest.mark.parametrize(
    "details",
    [
        "The parameter to is required.",
        "Parameter 'to' is not valid",
        "Param to must be a valid phone number",
        "Invalid parameter: recipient",
    ],
)
def test_a_parameter_error_about_the_address_concerns_the_recipient_alone(
    code: int, details: str
) -> None:
    assert classify(code, details) == Failed(code, details)


@pytest.mark.parametrize(
    "details",
    [
        "Unsupported parameter: colour",
        "Add the parameter to your request",
        "Unsupported parameter: recipient_type",
        "The phone number ID does not exist",
        "",
    ],
)
def test_another_parameter_error_concerns_everybody(details: str) -> None:
    assert classify(100, details) == Failed(100, details, systemic=True)


def test_a_person_over_the_marketing_limit_waits_a_day() -> None:
    retry = classify(131049, "")
    assert isinstance(retry, Retry)
    assert DAY <= retry.delay_seconds(attempt=0, dice=0.99) < 2 * DAY


@pytest.mark.parametrize(("attempt", "seconds"), [(0, 1), (1, 4), (3, 64)])
def test_a_pair_over_its_limit_waits_as_meta_says(attempt: int, seconds: float) -> None:
    retry = classify(131056, "")
    assert isinstance(retry, Retry)
    assert retry.delay_seconds(attempt=attempt, dice=0.0) == seconds


def test_an_ordinary_retry_waits_by_full_jitter() -> None:
    retry = classify(131016, "")
    assert isinstance(retry, Retry)
    assert retry.delay_seconds(attempt=2, dice=0.5) == 10


def test_a_longer_wait_that_meta_asks_for_is_honoured() -> None:
    assert classify(130429, "", 60.0) == Throttled(130429, "", 60.0)
    assert classify(4, "", 600.0) == PauseAccount(4, "", 600.0, 3600.0, whole_app=True)
    retry = classify(131016, "", 30.0)
    assert isinstance(retry, Retry)
    assert retry.delay_seconds(attempt=0, dice=0.0) == 30


def test_a_pause_that_only_a_human_ends_is_not_ended_by_a_header() -> None:
    assert classify(190, "", 60.0) == PauseAccount(190, "", None, whole_app=True)


def accepted(**message: Any) -> bytes:
    return json.dumps({"messages": [{"id": "wamid.A", **message}]}).encode()


@pytest.mark.parametrize("body", [accepted(), accepted(message_status="accepted")])
def test_an_answer_with_a_wamid_is_accepted(body: bytes) -> None:
    assert classify_answer(200, body) == Accepted("wamid.A")


def test_a_message_held_for_quality_assessment_says_so() -> None:
    body = accepted(message_status="held_for_quality_assessment")
    assert classify_answer(200, body) == Accepted("wamid.A", held=True)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"messages":[{"id":"wam',
        b"<html>",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"messages":[]}',
        b'{"messages":[5]}',
        b'{"messages":[{"id":""}]}',
        b'{"messages":{"id":"wamid.A"}}',
        b'{"error":"?"}',
        b"[" * 100_000,
    ],
    ids=lambda body: repr(body[:20]),
)
def test_a_success_without_a_wamid_is_unknown(body: bytes) -> None:
    assert isinstance(classify_answer(200, body), Unknown)


def test_the_code_counts_whatever_the_http_status_is() -> None:
    assert isinstance(classify_answer(500, graph_error(134102)), PauseCampaign)
    assert isinstance(classify_answer(400, graph_error(130429)), Throttled)
    assert isinstance(classify_answer(200, graph_error(131026)), Failed)


@pytest.mark.parametrize(
    ("http_status", "outcome"),
    [
        (302, Unknown),
        (401, PauseAccount),
        (403, PauseAccount),
        (404, PauseNumber),
        (429, Throttled),
        (500, Unknown),
        (502, Unknown),
    ],
)
def test_the_http_status_counts_where_there_is_no_code(
    http_status: int, outcome: type[Outcome]
) -> None:
    assert type(classify_answer(http_status, b"<html>Bad gateway</html>")) is outcome


def test_another_refusal_without_a_code_is_final_and_loud() -> None:
    outcome = classify_answer(418, b"")
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.recognised) == (418, False)


@pytest.mark.parametrize("code", [None, "x", 1.5, True, 10**30, [], {}])
def test_a_code_that_is_none_is_as_good_as_no_error(code: object) -> None:
    assert isinstance(classify_answer(502, graph_error(code)), Unknown)


@pytest.mark.parametrize(
    ("error", "details"),
    [
        ({"error_data": {"details": "data"}, "message": "message"}, "data"),
        ({"error_data": "text", "message": "message"}, "text"),
        ({"message": "message", "title": "title"}, "message"),
        ({"error_data": {"details": 5}, "title": "title"}, "title"),
        ({"code": 1, "details": "compact"}, "compact"),
        ({"error_data": []}, ""),
    ],
)
def test_the_details_are_metas_most_specific_words(error: dict[str, Any], details: str) -> None:
    assert details_of(error) == details


def usage(minutes: object) -> dict[str, str]:
    row = {"type": "whatsapp", "estimated_time_to_regain_access": minutes}
    return {"X-Business-Use-Case-Usage": json.dumps({"104996122399160": [row]})}


def at(later: str, now: str) -> dict[str, str]:
    day = "Wed, 21 Oct 2026"
    return {"Retry-After": f"{day} {later} GMT", "Date": f"{day} {now} GMT"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "7", **usage(2)}, 7),
        (at("07:28:40", "07:28:00"), 40),
        ({**at("07:28:40", "07:28:00"), **usage(2)}, 40),
        (at("07:27:00", "07:28:00"), None),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"Retry-After": "tomorrow", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        (
            {"Retry-After": "Wed, 21 Oct 2026 07:28:00", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            None,
        ),
        ({"Retry-After": "", **usage(3)}, 180),
        ({"Retry-After": "999999999"}, DAY),
        (usage(2), 120),
        (usage(0), None),
        (usage("?"), None),
        ({"X-Business-Use-Case-Usage": "?"}, None),
        ({"X-Business-Use-Case-Usage": '{"1": [5], "2": 3}'}, None),
    ],
    ids=str,
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_seconds_of(headers) == seconds


def test_a_throttle_without_a_code_honours_retry_after() -> None:
    outcome = classify_answer(429, b"", {"Retry-After": "9"})
    assert outcome == Throttled(429, "HTTP 429 without an error code", 9)


def test_details_hold_nothing_that_a_database_refuses() -> None:
    error = {"error_data": {"details": "a\0b\ud800c"}}

    assert details_of(error) == "ab?c"

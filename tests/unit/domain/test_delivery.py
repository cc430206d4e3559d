"""What is known about one send."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.domain.delivery import (
    STATUS_OF_WEBHOOK,
    OpaqueId,
    Status,
    StatusUpdate,
    UnmatchedStatus,
    error_code_of,
    matched,
    moment_of,
    reduce_updates,
    update_of,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 13, tzinfo=UTC)
NOTHING = StatusUpdate(7, 1, 0, Status.NONE, None, None, None, None, None, "wamid.A")
SENT = replace(NOTHING, status=Status.SENT, sent_at=NOON)
FAILED = replace(NOTHING, status=Status.FAILED, failed_at=NOON, error_code=131026)
DELIVERED = replace(NOTHING, status=Status.DELIVERED, delivered_at=LATER)


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        (Status.HELD, Status.ACCEPTED),
        (Status.ACCEPTED, Status.SENT),
        (Status.SENT, Status.FAILED),
        (Status.FAILED, Status.DELIVERED),
        (Status.DELIVERED, Status.READ),
    ],
)
def test_the_order_of_the_statuses_is_their_rank(lower: Status, higher: Status) -> None:
    assert lower < higher


def test_a_status_is_shown_in_lower_case() -> None:
    assert Status.DELIVERED.label == "delivered"


def test_a_played_voice_message_was_read() -> None:
    assert STATUS_OF_WEBHOOK["played"] is Status.READ


def test_a_failure_covers_sent() -> None:
    assert reduce_updates([FAILED, SENT])[0].status is Status.FAILED


def test_delivered_covers_a_failure_and_keeps_its_code() -> None:
    merged = reduce_updates([DELIVERED, FAILED])
    assert merged == [replace(DELIVERED, failed_at=NOON, error_code=131026)]


def test_the_earliest_time_of_a_kind_is_kept() -> None:
    again = replace(SENT, sent_at=LATER)
    assert reduce_updates([again, SENT, again]) == [SENT]


def test_attempts_stay_apart_and_updates_are_sorted_by_key() -> None:
    first, second, other = SENT, replace(SENT, attempt=1), replace(SENT, campaign_id=3, seq=9)
    assert reduce_updates([second, first, other]) == [other, first, second]


def test_nothing_is_reduced_to_nothing() -> None:
    assert reduce_updates([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1:2",
        "1:2:3:4",
        "-1:2:3",
        "01:2:3",
        "1:2:3 ",
        "1:2:3\n",
        "a:b:c",
        "\u0661:2:3",
        f"{2**63}:1:1",
        f"1:{2**31}:1",
        "1:1:32768",
        None,
        5,
        ["1:2:3"],
    ],
)
def test_what_we_did_not_write_is_no_id_of_ours(text: object) -> None:
    assert OpaqueId.parse(text) is None


def test_the_largest_id_fits_the_columns() -> None:
    text = f"{2**31 - 1}:{2**31 - 1}:{2**15 - 1}"
    assert str(OpaqueId.parse(text)) == text


def compact(**changes: Any) -> dict[str, Any]:
    return {"id": "wamid.A", "status": "sent", "timestamp": "1796126400", **changes}


def test_a_status_with_our_id_is_an_update_of_that_attempt() -> None:
    assert update_of(compact(opaque="7:1:0")) == SENT


def test_a_failed_status_brings_its_code() -> None:
    errors = [{"code": 131026, "details": "Message undeliverable."}]
    assert update_of(compact(opaque="7:1:0", status="failed", errors=errors)) == FAILED


def test_an_error_beside_another_status_is_no_failure() -> None:
    assert update_of(compact(opaque="7:1:0", errors=[{"code": 1}])) == SENT


def test_a_played_status_is_a_time_of_reading() -> None:
    update = update_of(compact(opaque="7:1:0", status="played"))
    assert update == replace(NOTHING, status=Status.READ, read_at=NOON)


@pytest.mark.parametrize("opaque", [{}, {"opaque": "order-5"}])
def test_a_status_without_our_id_is_unmatched(opaque: dict[str, str]) -> None:
    assert update_of(compact(**opaque)) == UnmatchedStatus("wamid.A", Status.SENT, NOON, None)


def test_an_unmatched_status_whose_row_was_found_is_an_update_of_it() -> None:
    errors = [{"code": 131026}]
    status = update_of(compact(status="failed", errors=errors))
    assert isinstance(status, UnmatchedStatus)
    assert matched(status, (7, 1, 0)) == FAILED


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": None},
        {"id": 5},
        {"id": "wamid.\x00"},
        {"id": "wamid.é"},
        {"id": "w" * 513},
        {"status": "in_orbit"},
        {"status": ["sent"]},
        {"status": None},
        {"timestamp": None},
        {"timestamp": "soon"},
        {"timestamp": "1"},
    ],
)
def test_what_is_no_status_gives_no_update(changes: dict[str, Any]) -> None:
    assert update_of(compact(**changes)) is None


@pytest.mark.parametrize(
    "timestamp", ["1796126400", 1796126400, "1796126400000", 1796126400000], ids=str
)
def test_seconds_and_milliseconds_are_told_apart(timestamp: str | int) -> None:
    assert moment_of(timestamp) == NOON


@pytest.mark.parametrize(
    "timestamp",
    [None, True, "", "-5", -5, "1.5", 1.5, "٣", 0, 10**17, 10**400, "9" * 5_000, [], {}],
    ids=lambda value: str(value)[:12],
)
def test_nonsense_is_no_moment(timestamp: object) -> None:
    assert moment_of(timestamp) is None


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([{"code": 131049}], 131049),
        ([{"code": "131049"}], 131049),
        (["?", {"title": "no code"}, {"code": 1}], 1),
        ([{"code": 2**40}], None),
        ({"code": 1}, None),
        (None, None),
        ([], None),
    ],
)
def test_the_code_is_that_of_the_first_error_that_has_one(errors: object, code: int | None) -> None:
    assert error_code_of(errors) == code

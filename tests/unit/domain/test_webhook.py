"""Webhooks, verified and taken apart."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from sluice.domain.delivery import Status, StatusUpdate, UnmatchedStatus, update_of
from sluice.domain.webhook import Parsed, parse, verify_challenge, verify_signature

EVENTS = Path(__file__).parents[3] / "events"
SECRETS = ["current-app-secret", "previous-app-secret"]
WABA = "102290129340398"
NUMBER = "106540352242922"
VALID = {"id": "wamid.A", "status": "sent", "timestamp": "1796126400"}


def event(name: str) -> Any:
    return json.loads((EVENTS / "webhook" / f"{name}.json").read_text(encoding="utf-8"))


def raw_body(name: str) -> bytes:
    sample = event(name)
    body: str = sample["body"]
    return base64.b64decode(body) if sample["isBase64Encoded"] else body.encode()


def parsed(name: str) -> Parsed:
    answer = parse(raw_body(name))
    assert answer is not None
    return answer


def parsed_value(value: Any, field: Any = "messages") -> Parsed:
    change = {"field": field, "value": value}
    answer = parse(json.dumps({"entry": [{"id": WABA, "changes": [change]}]}).encode())
    assert answer is not None
    return answer


def signature(body: bytes, secret: str) -> str:
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


POSTS = sorted(p.stem for p in (EVENTS / "webhook").iterdir() if not p.stem.startswith("challenge"))
UNSIGNED = {"statuses_unsigned", "bad_signature", "malformed_signature"}


@pytest.mark.parametrize("name", POSTS)
def test_a_sample_is_signed_unless_its_name_says_otherwise(name: str) -> None:
    header = event(name)["headers"].get("x-hub-signature-256")
    assert verify_signature(raw_body(name), header, SECRETS) == (name not in UNSIGNED)


def test_a_secret_that_was_rotated_out_is_not_valid() -> None:
    header = event("previous_secret")["headers"]["x-hub-signature-256"]
    assert not verify_signature(raw_body("previous_secret"), header, SECRETS[:1])


def test_a_single_changed_byte_breaks_the_signature() -> None:
    header = signature(b"{}", SECRETS[0])
    assert not verify_signature(b"{ }", header, SECRETS)


@pytest.mark.parametrize("secrets", [[], [""]])
def test_without_a_secret_nothing_is_valid(secrets: list[str]) -> None:
    assert not verify_signature(b"{}", signature(b"{}", ""), secrets)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "sha256=",
        "sha256=é",
        signature(b"{}", SECRETS[0]).upper(),
        signature(b"{}", SECRETS[0]).removeprefix("sha256="),
        f"{signature(b'{}', SECRETS[0])}\n",
        signature(b"{}", SECRETS[0])[:-1],
        signature(b"{}", SECRETS[0]) + "0",
        signature(b"{}", SECRETS[0]).replace("sha256", "sha512"),
        "sha1=" + hmac.new(SECRETS[0].encode(), b"{}", hashlib.sha1).hexdigest(),
        "sha256=" + "\uff10" * 64,
        signature(b"{}", SECRETS[0]) + "," + signature(b"{}", SECRETS[0]),
    ],
)
def test_a_malformed_header_is_no_signature(header: str | None) -> None:
    assert not verify_signature(b"{}", header, SECRETS)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_signature_is_compared_in_constant_time(
    monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    compared = []

    def compare(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return bool(one == other)

    monkeypatch.setattr("sluice.domain.webhook.hmac.compare_digest", compare)
    secrets = ["first", "second", "third"]

    assert verify_signature(b"{}", signature(b"{}", secrets[place]), secrets)

    # By the library's own comparison, whole against whole, and with all of them in any case.
    assert [len(one) for pair in compared for one in pair] == [64] * 6


@pytest.mark.parametrize("length", [0, 1, 100])
def test_a_body_that_was_cut_is_not_signed(length: int) -> None:
    header = event("statuses")["headers"]["x-hub-signature-256"]

    assert not verify_signature(raw_body("statuses")[:length], header, SECRETS)


def test_the_challenge_is_answered_to_who_knows_the_token() -> None:
    assert verify_challenge(event("challenge")["queryStringParameters"], "verify-me") == (
        "1158201444"
    )


def test_the_challenge_is_not_answered_to_who_guesses() -> None:
    query = event("challenge_wrong_token")["queryStringParameters"]
    assert verify_challenge(query, "verify-me") is None


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"hub.mode": "subscribe", "hub.challenge": "1"},
        {"hub.verify_token": "verify-me", "hub.challenge": "1"},
        {"hub.mode": "subscribe", "hub.verify_token": "verify-me"},
        {"hub.mode": "subscribe", "hub.verify_token": "\ud800", "hub.challenge": "1"},
    ],
)
def test_half_a_challenge_is_not_answered(query: dict[str, str]) -> None:
    assert verify_challenge(query, "verify-me") is None


def test_an_empty_token_lets_nobody_in() -> None:
    query = {"hub.mode": "subscribe", "hub.verify_token": "", "hub.challenge": "1"}
    assert verify_challenge(query, "") is None


@pytest.mark.parametrize("name", ["not_json", "not_an_object"])
def test_what_is_no_json_object_is_no_webhook(name: str) -> None:
    assert parse(raw_body(name)) is None


@pytest.mark.parametrize("body", [b"", b"\xff", b"[" * 100_000, b'{"entry": NaN}', b'{"a": 1e999}'])
def test_what_json_cannot_write_again_is_no_webhook(body: bytes) -> None:
    assert parse(body) is None


def test_every_status_is_taken_and_nothing_about_the_person() -> None:
    answer = parsed("statuses")
    assert answer.signals == []
    assert answer.statuses[1] == {
        "id": "wamid.HBgLMTIwMjU1NTAxMDEVAgARGBI1",
        "status": "delivered",
        "timestamp": "1796126401",
        "opaque": "1:0:0",
        "number": NUMBER,
    }
    assert len(answer.statuses) == 3
    assert "12025550101" not in json.dumps(answer.statuses)


def test_the_price_of_a_message_is_kept() -> None:
    assert parsed("statuses").statuses[0]["pricing"] == {
        "pricing_model": "PMP",
        "type": "regular",
        "category": "utility",
        "billable": True,
    }


def test_a_body_in_base64_is_the_same_webhook() -> None:
    assert parsed("base64") == parsed("statuses")


def test_a_failure_keeps_its_code_and_details() -> None:
    answer = parsed("failed")
    assert answer.statuses[0]["errors"] == [{"code": 131026, "details": "Message Undeliverable."}]
    assert answer.signals == []


def test_a_failure_without_our_id_is_unmatched() -> None:
    update = update_of(parsed("failed").statuses[0])
    assert isinstance(update, UnmatchedStatus)
    assert (update.status, update.error_code) == (Status.FAILED, 131026)


def test_read_may_come_without_delivered() -> None:
    updates = [update_of(status) for status in parsed("read_without_delivered").statuses]
    assert [u.status for u in updates if isinstance(u, StatusUpdate)] == [Status.SENT, Status.READ]


def test_a_person_known_by_user_id_only_has_statuses_too() -> None:
    assert [status["opaque"] for status in parsed("user_id_only").statuses] == ["1:2:0"]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("failed_after_sent", ["sent", "failed"]),
        ("held_dropped", ["failed"]),
        ("played", ["played"]),
        ("rewritten_wa_id", ["sent", "delivered"]),
    ],
)
def test_statuses_of_every_kind_that_meta_documents_are_taken(name: str, kinds: list[str]) -> None:
    answer = parsed(name)
    assert [status["status"] for status in answer.statuses] == kinds
    assert answer.signals == []


def test_a_status_finds_its_row_by_our_id_however_meta_rewrites_the_number() -> None:
    for status in parsed("rewritten_wa_id").statuses:
        update = update_of(status)
        assert isinstance(update, StatusUpdate)
        assert update.key == (1, 3, 0)
        assert "522000000001" not in json.dumps(status)


def test_a_deleted_status_is_kept_and_changes_nothing() -> None:
    answer = parsed("deleted_status")
    assert answer.statuses == []
    assert [signal["field"] for signal in answer.signals] == ["statuses"]


def test_the_signature_is_of_the_bytes_as_meta_escapes_them() -> None:
    raw, header = raw_body("escaped_characters"), event("escaped_characters")["headers"]
    signed = header["x-hub-signature-256"]
    assert verify_signature(raw, signed, SECRETS)
    assert rb"\u003c3" in raw
    assert rb"\ud83c\udf89" in raw
    for again in (json.dumps(json.loads(raw)), json.dumps(json.loads(raw), ensure_ascii=False)):
        assert not verify_signature(again.encode(), signed, SECRETS)


def test_a_status_needs_nothing_but_its_id_its_kind_and_its_time() -> None:
    for status in (
        VALID,
        {**VALID, "status": "failed"},
        {**VALID, "status": "failed", "errors": []},
    ):
        answer = parsed_value({"statuses": [status]})
        assert answer.signals == []
        assert update_of(answer.statuses[0]) is not None


def test_a_thousand_statuses_in_one_webhook_are_all_taken() -> None:
    told = [
        VALID | {"id": f"wamid.{place}", "biz_opaque_callback_data": f"1:{place}:1"}
        for place in range(1_000)
    ]
    answer = parsed_value({"statuses": told})
    assert [status["opaque"] for status in answer.statuses] == [f"1:{n}:1" for n in range(1_000)]


def test_a_status_that_we_do_not_know_is_kept_as_a_signal() -> None:
    answer = parsed("unknown_status")
    (signal,) = answer.signals
    assert answer.statuses == []
    assert (signal["account"], signal["field"]) == (WABA, "statuses")
    assert signal["value"]["statuses"][0]["status"] == "in_orbit"


@pytest.mark.parametrize("missing", ["id", "status", "timestamp"])
def test_a_status_that_lacks_what_it_needs_is_kept_as_a_signal(missing: str) -> None:
    status = {key: part for key, part in VALID.items() if key != missing}
    answer = parsed_value({"statuses": [status, VALID]})
    assert answer.statuses == [VALID]
    assert [signal["value"] for signal in answer.signals] == [{"statuses": [status]}]


def test_what_a_person_writes_is_a_signal() -> None:
    answer = parsed("inbound_message")
    (signal,) = answer.signals
    assert answer.statuses == []
    assert signal["value"]["messages"][0]["text"] == {"body": "STOP 🛑"}
    assert (signal["field"], signal["time"]) == ("messages", 1796126400)


def test_statuses_and_messages_of_one_change_are_split() -> None:
    answer = parsed("statuses_and_messages")
    (signal,) = answer.signals
    assert len(answer.statuses) == 1
    assert signal["value"].keys() == {"messaging_product", "metadata", "contacts", "messages"}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("template_status", "message_template_status_update"),
        ("user_preferences", "user_preferences"),
        ("account_update", "account_update"),
        ("throughput_upgrade", "phone_number_quality_update"),
        ("number_error", "messages"),
    ],
)
def test_everything_else_is_a_signal_with_its_value_raw(name: str, field: str) -> None:
    answer = parsed(name)
    original = json.loads(raw_body(name))["entry"][0]["changes"][0]["value"]
    assert answer.statuses == []
    assert answer.signals == [
        {"account": WABA, "field": field, "time": 1796126400, "value": original}
    ]


def test_every_entry_is_read() -> None:
    answer = parsed("two_accounts")
    assert [status["id"] for status in answer.statuses] == ["wamid.A1", "wamid.B1"]
    assert [signal["account"] for signal in answer.signals] == ["102290129340399"]


def test_wrong_types_are_kept_as_signals() -> None:
    answer = parsed("wrong_types")
    assert answer.statuses == []
    assert [signal["value"] for signal in answer.signals] == [
        {"raw": 5},
        {"raw": {"id": 7, "changes": {}}},
        {"raw": "?"},
        {"raw": {"field": "messages", "value": []}},
        {"statuses": {}},
        {"statuses": [None]},
        {"statuses": [{"id": "wamid.A1"}]},
    ]


def test_an_object_without_entries_is_kept_as_a_signal() -> None:
    answer = parse(b'{"object": "page"}')
    assert answer is not None
    assert answer.signals == [
        {"account": None, "field": None, "time": None, "value": {"raw": {"object": "page"}}}
    ]


@pytest.mark.parametrize(
    "extra",
    [
        {"biz_opaque_callback_data": 5},
        {"biz_opaque_callback_data": "x" * 513},
        {"errors": {}},
        {"errors": [5, {"code": None}, {"title": "no code"}]},
        {"pricing": []},
        {"pricing": {"category": {}, "amount": 3}},
    ],
    ids=str,
)
def test_an_optional_part_of_a_wrong_type_is_left_out(extra: dict[str, Any]) -> None:
    assert parsed_value({"metadata": {"phone_number_id": 5}, "statuses": [VALID | extra]}) == (
        Parsed([VALID], [])
    )


@pytest.mark.parametrize(
    ("error", "details"),
    [
        ({"code": 1, "error_data": "words"}, "words"),
        ({"code": "1", "message": "words"}, "words"),
        ({"code": 1, "error_data": {"details": 5}, "title": "words"}, "words"),
        ({"code": 1}, ""),
    ],
)
def test_the_words_of_an_error_are_found_where_they_are(
    error: dict[str, Any], details: str
) -> None:
    (status,) = parsed_value({"statuses": [VALID | {"errors": [error]}]}).statuses
    assert status["errors"] == [{"code": 1, "details": details}]

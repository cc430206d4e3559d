"""No webhook, whatever its shape, raises, and none loses a status."""

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.delivery import STATUS_OF_WEBHOOK
from sluice.domain.webhook import (
    pack,
    pack_signals,
    parse,
    to_json,
    verify_challenge,
    verify_signature,
)

BYTES_MAX = 2_000
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
STATUS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 50).map("wamid.{}".format),
        "status": st.sampled_from([*STATUS_OF_WEBHOOK, "in_orbit"]),
        "timestamp": st.just("1796126400"),
    },
    optional={
        "biz_opaque_callback_data": st.just("1:2:3") | JSON,
        "errors": JSON,
        "pricing": JSON,
    },
)
VALUE = st.fixed_dictionaries(
    {},
    optional={
        "statuses": st.lists(STATUS | JSON, max_size=8) | JSON,
        "messages": st.lists(JSON, max_size=8) | JSON,
        "metadata": st.just({"phone_number_id": "5"}) | JSON,
        "contacts": JSON,
    },
)
CHANGE = st.fixed_dictionaries(
    {}, optional={"field": st.just("messages") | JSON, "value": VALUE | JSON}
)
ENTRY = st.fixed_dictionaries(
    {}, optional={"id": JSON, "changes": st.lists(CHANGE | JSON, max_size=4) | JSON}
)
WEBHOOK = st.fixed_dictionaries({}, optional={"entry": st.lists(ENTRY | JSON, max_size=3) | JSON})
COMPACT = st.fixed_dictionaries(
    {"id": ANY_TEXT, "status": st.sampled_from(sorted(STATUS_OF_WEBHOOK))},
    optional={"opaque": ANY_TEXT},
)
SIGNAL = st.fixed_dictionaries(
    {
        "account": st.none() | ANY_TEXT,
        "field": st.none() | ANY_TEXT,
        "time": st.none() | st.integers(0, 10**18),
        "value": st.dictionaries(ANY_TEXT, JSON | st.lists(JSON, max_size=60), max_size=3),
    }
)


@given(st.binary())
def test_no_bytes_raise(body: bytes) -> None:
    parse(body)


@given(JSON)
def test_no_json_raises(document: object) -> None:
    parse(json.dumps(document).encode())


@given(WEBHOOK)
def test_every_known_status_is_taken_and_every_other_one_kept(webhook: dict[str, Any]) -> None:
    answer = parse(json.dumps(webhook).encode())
    if answer is None:
        return
    kept = json.dumps(answer.signals)
    for status in statuses_of(webhook):
        if status["status"] == "in_orbit":
            assert json.dumps(status) in kept
    known = Counter(s["id"] for s in statuses_of(webhook) if s["status"] != "in_orbit")
    assert known <= Counter(status["id"] for status in answer.statuses)


def statuses_of(webhook: dict[str, Any]) -> list[dict[str, Any]]:
    """The statuses of a drawn webhook that have the right shape and stand in the right place."""
    found: list[Any] = []
    for entry in listed(webhook.get("entry")):
        for change in listed(entry.get("changes") if isinstance(entry, dict) else None):
            value = change.get("value") if isinstance(change, dict) else None
            if isinstance(value, dict) and change.get("field") == "messages":
                found += listed(value.get("statuses"))
    return [status for status in found if is_drawn(status)]


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_drawn(status: object) -> bool:
    return isinstance(status, dict) and str(status.get("id")).startswith("wamid.")


@given(st.lists(COMPACT, max_size=60), st.integers(1, 64))
def test_packing_loses_no_status_and_exceeds_no_size(
    statuses: list[dict[str, Any]], groups: int
) -> None:
    packed = pack(statuses, groups, BYTES_MAX)
    assert all(0 <= group < groups for group, _ in packed)
    assert all(len(to_json(message).encode()) <= BYTES_MAX for _, message in packed)
    unpacked = [to_json(status) for _, message in packed for status in message["statuses"]]
    assert Counter(unpacked) == Counter(map(to_json, statuses))


@given(st.lists(COMPACT, max_size=60), st.integers(1, 64))
def test_a_message_of_metas_stays_in_one_group(statuses: list[dict[str, Any]], groups: int) -> None:
    places: dict[str, set[int]] = {}
    for group, message in pack(statuses, groups, BYTES_MAX):
        for status in message["statuses"]:
            places.setdefault(status.get("opaque") or status["id"], set()).add(group)
    assert all(len(groups_of_one) == 1 for groups_of_one in places.values())


@given(st.lists(SIGNAL, max_size=8))
def test_packing_signals_exceeds_no_size(signals: list[dict[str, Any]]) -> None:
    for message in pack_signals(signals, BYTES_MAX):
        assert message["signals"]
        assert len(to_json(message).encode()) <= BYTES_MAX


@given(st.lists(SIGNAL, max_size=8))
def test_signals_that_fit_are_packed_as_they_are(signals: list[dict[str, Any]]) -> None:
    unpacked = [signal for message in pack_signals(signals, 10**7) for signal in message["signals"]]
    assert unpacked == signals


@given(st.binary(), st.none() | ANY_TEXT, st.lists(st.text(max_size=5), max_size=3))
def test_no_header_raises(body: bytes, header: str | None, secrets: list[str]) -> None:
    assert not verify_signature(body, header, secrets)


@given(
    st.dictionaries(st.sampled_from(["hub.mode", "hub.verify_token", "hub.challenge"]), ANY_TEXT)
)
def test_no_query_raises(query: dict[str, str]) -> None:
    assert verify_challenge(query, "verify-me") is None

"""Queue messages of a bounded size."""

import hashlib
import json
import zlib
from typing import Any

from sluice.domain.packing import deduplication_id, pack, pack_signals, to_json


def status(number: int, **more: str) -> dict[str, Any]:
    return {"id": f"wamid.{number}", "status": "sent", "timestamp": "1796126400", **more}


def test_the_statuses_of_one_message_stay_in_one_group_and_in_order() -> None:
    first, second = status(1, opaque="1:2:3"), status(2, opaque="1:2:3")
    assert pack([first, second], 64, 1_000) == [
        (zlib.crc32(b"1:2:3") % 64, {"statuses": [first, second]})
    ]


def test_without_our_id_the_group_is_that_of_the_wamid() -> None:
    assert pack([status(1)], 64, 1_000)[0][0] == zlib.crc32(b"wamid.1") % 64


def test_a_group_with_too_much_for_one_message_gets_several() -> None:
    statuses = [status(number) for number in range(100)]
    packed = pack(statuses, 1, 1_000)
    assert len(packed) > 5
    assert all(len(to_json(message)) <= 1_000 for _, message in packed)
    assert [one for _, message in packed for one in message["statuses"]] == statuses


def test_no_statuses_are_no_messages() -> None:
    assert pack([], 64, 1_000) == []


def signal(**value: Any) -> dict[str, Any]:
    return {"account": "1", "field": "messages", "time": 5, "value": value}


def test_small_signals_travel_together_as_they_are() -> None:
    signals = [signal(event="A"), signal(event="B")]
    assert pack_signals(signals, 1_000) == [{"signals": signals}]


def test_a_large_signal_is_split_at_its_longest_list() -> None:
    large = signal(metadata={"phone_number_id": "5"}, messages=["x" * 90 for _ in range(20)])
    packed = pack_signals([large], 1_000)
    values = [one["value"] for message in packed for one in message["signals"]]
    assert all(value["metadata"] == {"phone_number_id": "5"} for value in values)
    assert sum(len(value["messages"]) for value in values) == 20


def test_splitting_tells_nothing_twice() -> None:
    large = signal(
        messages=[f"message {number}" for number in range(50)],
        contacts=[f"contact {number}" for number in range(60)],
    )
    told = [
        text
        for message in pack_signals([large], 500)
        for one in message["signals"]
        for part in ("messages", "contacts")
        for text in one["value"].get(part, [])
    ]
    assert sorted(told) == sorted(large["value"]["messages"] + large["value"]["contacts"])


def test_a_signal_that_cannot_be_split_keeps_its_beginning_and_its_size() -> None:
    large = signal(text='"' * 5_000)
    ((kept,),) = [message["signals"] for message in pack_signals([large], 1_000)]
    assert kept["account"] == "1"
    assert kept["value"]["truncated"].startswith('{"text":"')
    assert kept["value"]["bytes"] > 5_000


def test_a_message_is_compact_and_ascii() -> None:
    assert to_json({"text": "é 🎉"}) == '{"text":"\\u00e9 \\ud83c\\udf89"}'


def test_the_deduplication_id_is_the_hash_of_the_message() -> None:
    assert deduplication_id("{}") == hashlib.sha256(b"{}").hexdigest()


def test_a_message_of_a_queue_is_read_as_it_was_packed() -> None:
    assert json.loads(to_json({"statuses": [status(1)]})) == {"statuses": [status(1)]}

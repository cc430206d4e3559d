"""signal.handle on real Postgres."""

import json
from types import SimpleNamespace

import pytest

from functions.signal.handler import handle
from tests.integration.functions.ports import Telemetry, event_of, failed, parked, samples


@pytest.fixture
def signal(world, aws, clock):
    telemetry = Telemetry()

    def run(event):
        return handle(
            event,
            signals=world.signals,
            parking=aws.parking(),
            telemetry=telemetry,
            clock=clock,
        )

    return SimpleNamespace(run=run, telemetry=telemetry)


def kept(world):
    """(account, field, value) of every signal."""
    rows = world.database.fetch("SELECT account_id, field, body FROM signal ORDER BY received_at")
    return [(account, name, body["value"]) for account, name, body in rows]


@pytest.mark.parametrize("sample", samples("signal"))
def test_a_sample_is_kept_as_it_came(signal, world, load_event, sample):
    event = load_event(f"signal/{sample}")

    assert not failed(signal.run(event))

    (came,) = json.loads(event["Records"][0]["body"])["signals"]
    assert kept(world) == [(came["account"], came["field"], came["value"])]


@pytest.mark.parametrize("sample", samples("signal"))
def test_a_sample_that_comes_twice_is_kept_and_counted_once(signal, world, load_event, sample):
    for _ in range(2):
        signal.run(load_event(f"signal/{sample}"))

    assert len(kept(world)) == 1
    assert signal.telemetry.counts()["SignalsKept"] == 1


def test_poison_among_good_ones_is_parked(signal, world, aws, load_event):
    answer = signal.run(load_event("signal/poison_among_good"))

    (envelope,) = parked(aws)
    assert not failed(answer)
    assert envelope["step"] == "signal"
    assert envelope["body"] == "not JSON"
    assert len(kept(world)) == 1


@pytest.mark.parametrize(
    "text",
    ['"\\ud800"', '"\\udc00 and more"', '"a\\u0000b"', '"\\ud83c\\udf89"'],
    ids=["half_a_pair", "other_half", "nul", "emoji"],
)
def test_any_text_that_json_can_write_is_kept(signal, world, text):
    body = f'{{"signals": [{{"account": {text}, "field": {text}, "value": {{"text": {text}}}}}]}}'

    assert not failed(signal.run(event_of(body)))

    (stored,) = world.database.fetch("SELECT body::text FROM signal")
    assert json.loads(stored[0])["value"] == {"text": json.loads(text)}


def test_a_message_that_cannot_be_stored_comes_again_alone(signal, world):
    good = {"account": "1", "field": "messages", "value": {}}
    bad = '{"signals": [{"account": "1", "field": "messages", "value": {"number": NaN}}]}'

    answer = signal.run(event_of({"signals": [good]}, bad, {"signals": [good | {"time": 5}]}))

    assert failed(answer) == ["message-1"]
    assert len(kept(world)) == 2


def test_no_signals_are_no_work(signal, world):
    assert not failed(signal.run(event_of({"signals": []})))

    assert kept(world) == []


def test_signals_are_counted_by_field(signal):
    signals = [{"account": "1", "field": name, "value": {}} for name in ("a", "b", "b")]
    signals[2]["time"] = 5

    signal.run(event_of({"signals": signals}))

    assert signal.telemetry.facts("fields") == [{"a": 1, "b": 2}]

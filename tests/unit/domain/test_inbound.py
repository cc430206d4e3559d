"""What people say back: who, to which number, in answer to what, and how subscribers are told."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.inbound import (
    AD_WINDOW,
    WINDOW,
    Answered,
    attributes_of,
    digest_of,
    heard_in,
    inbound_of,
    notice_of,
    one_by_one,
)
from sluice.domain.limits import INBOUND_BYTES_MAX
from tests.conftest import NUMBER

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SAID_AT = datetime.fromtimestamp(1796126400, UTC)
ZOE = {"wa_id": "12025550101", "user_id": "US.134", "profile": {"name": "Zoë"}}
LI = {"wa_id": "12025550102"}


def message(sender="12025550101", name="1", **more):
    """A message as Meta sends it."""
    return {"from": sender, "id": f"wamid.{name}", "timestamp": "1796126400",
            "type": "text", **more}  # fmt: skip


def signal(*messages, contacts=(), **value):
    value = {"metadata": {"phone_number_id": NUMBER}, "contacts": list(contacts),
             "messages": list(messages), **value}  # fmt: skip
    return {"account": "1", "field": "messages", "time": 1796126400, "value": value}


def notice(signal, answered=None):
    return json.loads(notice_of(inbound_of(signal), answered, now=NOW))


def test_subscribers_are_told_who_said_what_to_which_number():
    said = message(text={"body": "Yes 🎉"}, from_user_id="US.134")

    assert notice(signal(said, contacts=[ZOE])) == {
        "phone_number_id": NUMBER,
        "from": {"phone": "+12025550101", "user_id": "US.134"},
        "wamid": "wamid.1",
        "message": said,
        "answers": None,
        "received_at": "2026-12-01T12:00:00+00:00",
    }


@pytest.mark.parametrize(
    ("person", "contacts", "told"),
    [
        ({"from": "553188887777"}, [], {"phone": "+553188887777"}),
        ({"from": None, "from_user_id": "US.134"}, [], {"user_id": "US.134"}),
        ({"from": None, "from_user_id": "US.134"}, [ZOE],
         {"phone": "+12025550101", "user_id": "US.134"}),
        ({}, [ZOE], {"phone": "+12025550101", "user_id": "US.134"}),
        ({}, [LI], {"phone": "+12025550101"}),
    ],
)  # fmt: skip
def test_a_person_is_told_by_phone_and_user_id_as_far_as_they_are_known(person, contacts, told):
    assert notice(signal(message() | person, contacts=contacts))["from"] == told


def test_what_is_answered_is_told_by_the_clients_own_ids():
    told = notice(signal(message()), Answered("reminder", 7, 40, None))

    assert told["answers"] == {"campaign": "reminder", "campaign_id": 7, "seq": 40, "id": None}


def test_subscribers_filter_by_number_type_and_campaign():
    button = inbound_of(signal(message(type="button")))

    assert attributes_of(button, Answered("reminder", 7, 40, None)) == {
        "phone_number_id": NUMBER, "type": "button", "campaign": "reminder",
    }  # fmt: skip
    assert attributes_of(button, Answered(None, 7, 40, "reply-1")) == {
        "phone_number_id": NUMBER, "type": "button",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [None, "", "Ünknown", 7, "x" * 99])
def test_a_type_that_is_no_name_is_told_as_unknown(kind):
    assert attributes_of(inbound_of(signal(message(type=kind))), None)["type"] == "unknown"


def test_a_message_too_large_for_the_topic_is_named_and_said_to_be_cut():
    told = notice_of(inbound_of(signal(message(text={"body": "é" * 60_000}))), None, now=NOW)

    assert len(told) <= INBOUND_BYTES_MAX
    assert json.loads(told)["truncated"] is True
    assert json.loads(told)["wamid"] == "wamid.1"


@pytest.mark.parametrize(
    "odd",
    [
        signal(message(id=None)),
        signal(message(id="a b\n")),
        signal(message(), metadata={}),
        signal(message(), message(name="2")),
        signal(),
        signal(message()) | {"field": "user_preferences"},
        {"field": "messages", "value": 7},
    ],
    ids=["no wamid", "no wamid either", "no number", "two", "none", "another field", "no value"],
)
def test_what_is_not_one_message_to_a_number_is_no_reply(odd):
    assert inbound_of(odd) is None


def test_messages_that_meta_gathered_become_signals_of_their_own():
    errors = [{"code": 130429}]
    both = signal(message(), message("12025550102", "2"), contacts=[ZOE, LI], errors=errors)

    rest, first, second = one_by_one(both)

    assert rest["value"] == {"metadata": {"phone_number_id": NUMBER}, "errors": errors}
    assert first == signal(message(), contacts=[ZOE])
    assert second == signal(message("12025550102", "2"), contacts=[LI])


def test_one_message_stays_the_signal_that_it_is():
    one = signal(message(), contacts=[ZOE, LI])

    assert list(one_by_one(one)) == [one]


def test_a_message_is_the_same_however_meta_gathers_it_again():
    alone = signal(message(), contacts=[ZOE])
    later = signal(message(), message("12025550102", "2"), contacts=[ZOE, LI]) | {"time": 5}

    first, second = map(digest_of, one_by_one(later))

    assert first == digest_of(alone)
    assert second != first


def test_other_signals_are_the_same_where_their_content_is():
    assert digest_of({"field": "a", "value": {}}) == digest_of({"field": "a", "value": {}})
    assert digest_of({"field": "a", "value": {}}) != digest_of({"field": "b", "value": {}})


def test_who_writes_is_heard_under_every_key():
    (heard,) = heard_in(signal(message(), contacts=[ZOE]), now=NOW)

    assert (heard.phone_number_id, heard.keys) == (NUMBER, ("+12025550101", "US.134"))
    assert (heard.at, heard.open_until) == (SAID_AT, SAID_AT + WINDOW)


def test_an_advertisement_opens_a_longer_window():
    (heard,) = heard_in(signal(message(referral={"source_type": "ad"})), now=NOW)

    assert heard.open_until == SAID_AT + AD_WINDOW


def test_a_time_that_is_still_to_come_is_when_the_webhook_came():
    (heard,) = heard_in(signal(message(timestamp="1799999999")), now=SAID_AT + timedelta(hours=1))

    assert heard.at == SAID_AT


def test_who_calls_is_heard_too(load_event):
    (sampled,) = json.loads(load_event("signal/call")["Records"][0]["body"])["signals"]

    (heard,) = heard_in(sampled, now=NOW)

    assert (heard.keys[0], heard.open_until) == ("+12025550101", SAID_AT + WINDOW)


def test_what_whatsapp_says_of_a_person_is_no_word_of_the_person():
    assert heard_in(signal(message(type="system", system={})), now=NOW) == []

"""What Meta checks in a request, and how it words the answer."""

import json

import pytest

from local.cloud_api.errors import Refusal
from local.cloud_api.messages import Send, answer, claims, read_send, wamid_of

VALID = {
    "messaging_product": "whatsapp",
    "to": "+49 151 0000-0000",
    "type": "template",
    "template": {"name": "hello", "language": {"code": "en"}},
    "biz_opaque_callback_data": "c:1:1",
}


def read(**changes):
    body = {key: value for key, value in (VALID | changes).items() if value is not None}
    return read_send(json.dumps(body).encode(), "1")


def test_a_number_with_plus_is_taken_as_it_is():
    send = read()
    assert (send.recipient, send.wa_id) == ("+4915100000000", "4915100000000")


def test_a_number_without_plus_gets_the_business_numbers_country_code():
    assert read(to="6505551234").recipient == "+16505551234"


def test_the_mexican_1_and_the_brazilian_9_go_from_the_wa_id():
    assert read(to="+5215512345678").wa_id == "525512345678"
    assert read(to="+541112345678").wa_id == read(to="+5491112345678").wa_id == "5491112345678"
    assert read(to="+5511987654321").wa_id == "551187654321"


def test_a_business_scoped_id_has_a_field_of_its_own():
    send = read(to=None, recipient="US.13491208655302741918")
    assert (send.recipient, send.wa_id, send.lost) == ("US.13491208655302741918", "", False)


def test_a_business_scoped_id_in_to_is_accepted_and_lost():
    assert read(to="US.13491208655302741918").lost


def test_to_wins_over_recipient():
    assert read(recipient="US.1").recipient == "+4915100000000"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"to": None}, 100),
        ({"messaging_product": None}, 100),
        ({"biz_opaque_callback_data": "x" * 513}, 100),
        ({"to": "+49-not-a-number"}, 131009),
        ({"to": "+0123"}, 131009),
        ({"to": None, "recipient": "+4915100000000"}, 131009),
        ({"template": None}, 131008),
        ({"template": {"name": "hello"}}, 131008),
        ({"type": "text", "text": "not an object"}, 131008),
    ],
)
def test_a_flaw_has_its_code(changes, code):
    refusal = read(**changes)
    assert isinstance(refusal, Refusal)
    assert refusal.code == code


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff"])
def test_a_body_that_is_no_object_is_refused(raw):
    assert read_send(raw, "1").code == 100
    assert claims(raw) == ("", "")


def test_512_characters_of_opaque_id_fit():
    assert isinstance(read(biz_opaque_callback_data="x" * 512), Send)


def test_the_answer_to_a_template_has_a_message_status():
    assert answer(read(), "wamid.X", held=False) == {
        "messaging_product": "whatsapp",
        "contacts": [{"input": "+49 151 0000-0000", "wa_id": "4915100000000"}],
        "messages": [{"id": "wamid.X", "message_status": "accepted"}],
    }


def test_the_answer_to_a_text_has_no_message_status():
    send = read(type="text", text={"body": "hi"})
    assert answer(send, "wamid.X", held=False)["messages"] == [{"id": "wamid.X"}]


def test_the_answer_for_a_business_scoped_id_has_no_wa_id():
    send = read(to=None, recipient="US.1")
    assert answer(send, "w", held=False)["contacts"] == [{"input": "US.1", "user_id": "US.1"}]


def test_every_request_id_has_a_wamid_of_its_own():
    assert len({wamid_of("+491510000000", request_id, 7) for request_id in range(1000)}) == 1000

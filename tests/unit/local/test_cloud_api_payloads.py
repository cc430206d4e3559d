"""Webhook bodies as Meta sends them."""

import hashlib
import hmac
import json

from local.cloud_api.config import Number
from local.cloud_api.messages import Send
from local.cloud_api.payloads import (
    Change,
    StatusUpdate,
    inbound_value,
    serialised,
    signature,
    webhook_body,
)
from local.cloud_api.plan import Planned

NUMBERS = {"1": Number(account_id="A"), "2": Number(account_id="A"), "3": Number(account_id="B")}
DIGITS = "4915100000000"
PERSON = Send(f"+{DIGITS}", f"+{DIGITS}", DIGITS, "US.9", "c:1:1", is_template=True)
SENT = Planned("sent", 0.0, 0.0, priced=True)


def update(phone_number_id="1", send=PERSON, planned=SENT):
    return StatusUpdate(phone_number_id, send, "wamid.X", planned, 1750030073.9)


def body(*updates):
    return json.loads(webhook_body(updates, NUMBERS, "marketing"))


def value_of(*updates):
    return body(*updates)["entry"][0]["changes"][0]["value"]


def test_a_sent_status_has_metas_shape():
    value = value_of(update())
    name = value["contacts"][0].pop("profile")["name"]
    assert name
    assert value == {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550783881", "phone_number_id": "1"},
        "contacts": [{"wa_id": "4915100000000", "user_id": "US.9"}],
        "statuses": [
            {
                "id": "wamid.X",
                "status": "sent",
                "timestamp": "1750030073",
                "recipient_id": "4915100000000",
                "recipient_user_id": "US.9",
                "biz_opaque_callback_data": "c:1:1",
                "pricing": {
                    "billable": True,
                    "pricing_model": "PMP",
                    "type": "regular",
                    "category": "marketing",
                },
            }
        ],
    }


def test_a_failed_status_has_errors_and_no_contact():
    value = value_of(update(planned=Planned("failed", 0.0, 0.0, 131049, "capped")))
    (status,) = value["statuses"]
    assert "contacts" not in value
    assert "recipient_user_id" not in status
    assert status["errors"][0]["code"] == 131049
    assert status["errors"][0]["error_data"] == {"details": "capped"}


def test_a_failed_status_may_come_without_our_id():
    value = value_of(update(planned=Planned("failed", 0.0, 0.0, 131026, with_opaque=False)))
    assert "biz_opaque_callback_data" not in value["statuses"][0]


def test_a_business_scoped_id_has_no_recipient_id():
    value = value_of(update(send=Send("US.9", "US.9", "", "US.9", "c:1:1", is_template=True)))
    assert "recipient_id" not in value["statuses"][0]
    assert "wa_id" not in value["contacts"][0]


def test_a_free_form_message_is_priced_as_service():
    text = Send("+4915100000000", "+4915100000000", "4915100000000", "US.9", "", is_template=False)
    (status,) = value_of(update(send=text))["statuses"]
    assert status["pricing"]["category"] == "service"
    assert "biz_opaque_callback_data" not in status


def test_accounts_are_entries_and_numbers_are_changes():
    payload = body(update("1"), update("2"), update("3"), update("1"))
    shape = [
        (entry["id"], [len(change["value"]["statuses"]) for change in entry["changes"]])
        for entry in payload["entry"]
    ]
    assert shape == [("A", [2, 1]), ("B", [1])]


def test_any_change_can_be_emitted():
    change = Change("A", "message_template_status_update", {"event": "PAUSED"})
    assert body(change)["entry"] == [
        {
            "id": "A",
            "changes": [
                {"value": {"event": "PAUSED"}, "field": "message_template_status_update"},
            ],
        }
    ]


def test_an_inbound_message_has_no_statuses():
    value = inbound_value("1", Number(), sender="491", message={"id": "wamid.I", "type": "text"})
    assert "statuses" not in value
    assert value["messages"] == [{"id": "wamid.I", "type": "text"}]
    assert value["contacts"][0]["wa_id"] == "491"


def test_unicode_is_escaped_in_lower_case_and_so_is_what_php_escapes():
    assert serialised({"a": "ä🎉/@<"}) == rb'{"a":"\u00e4\ud83c\udf89\/\u0040\u003c"}'


def test_the_escaped_form_reads_back_as_what_it_was():
    assert json.loads(serialised({"a": "ä🎉/@<"})) == {"a": "ä🎉/@<"}


def test_the_signature_is_that_of_the_bytes():
    digest = hmac.new(b"secret", b"{}", hashlib.sha256).hexdigest()
    assert signature("secret", b"{}") == f"sha256={digest}"

"""Templates, filled in and sent."""

from typing import Any

import pytest

from sluice.domain.addresses import Address
from sluice.domain.delivery import OpaqueId
from sluice.domain.problems import Problem
from sluice.domain.templates import columns_of, message_body, render

TEMPLATE: dict[str, Any] = {
    "name": "vaccination_{{not_here}}",
    "language": "en_US",
    "components": [
        {"type": "header", "parameters": [{"type": "image", "image": {"link": "{{ picture }}"}}]},
        {
            "type": "body",
            "parameters": [
                {"type": "text", "text": "Dear {{name}} of {{clinic name}}"},
                {"type": "currency", "currency": {"amount_1000": 25_000}},
            ],
        },
        {"type": "button", "index": "0", "parameters": [{"type": "text", "text": "{{name}}"}]},
    ],
}
VALUES = {"picture": "https://example.org/a.png", "name": "Zoë 🎉", "clinic name": "{{name}} \\1"}
ADA = Address("phone", "+12025550101")


def test_the_columns_are_those_that_the_components_name() -> None:
    assert columns_of(TEMPLATE) == {"picture", "name", "clinic name"}


def test_a_template_without_components_names_no_columns() -> None:
    assert columns_of({"name": "hello_world", "language": "en_US"}) == frozenset()


def test_every_placeholder_is_filled_and_everything_else_stays() -> None:
    rendered = render(TEMPLATE, VALUES)
    assert isinstance(rendered, dict)
    header, body, button = rendered["components"]
    assert header["parameters"][0]["image"] == {"link": "https://example.org/a.png"}
    assert body["parameters"][1] == {"type": "currency", "currency": {"amount_1000": 25_000}}
    assert button["parameters"] == [{"type": "text", "text": "Zoë 🎉"}]
    assert rendered["name"] == TEMPLATE["name"]


def test_a_value_is_put_in_as_it_is_and_not_read_again() -> None:
    rendered = render(TEMPLATE, VALUES)
    assert isinstance(rendered, dict)
    assert rendered["components"][1]["parameters"][0]["text"] == "Dear Zoë 🎉 of {{name}} \\1"


@pytest.mark.parametrize("blank", [{}, {"name": ""}, {"name": " \n"}])
def test_a_missing_or_blank_value_is_a_problem_that_names_the_column(blank: dict[str, str]) -> None:
    rest = {key: value for key, value in VALUES.items() if key != "name"}
    assert render(TEMPLATE, rest | blank) == [Problem("parameters.name", "is missing or blank")]


def test_every_column_that_is_missing_is_told() -> None:
    problems = render(TEMPLATE, {})
    assert [str(problem) for problem in problems] == [
        "parameters.clinic name: is missing or blank",
        "parameters.name: is missing or blank",
        "parameters.picture: is missing or blank",
    ]


def test_rendering_changes_nothing_of_the_template() -> None:
    before = repr(TEMPLATE)
    render(TEMPLATE, VALUES)
    assert repr(TEMPLATE) == before


def test_a_template_message_is_the_json_of_the_cloud_api() -> None:
    components = [{"type": "body", "parameters": [{"type": "text", "text": "Ada"}]}]
    template = {"name": "hello", "language": "en_US", "components": components}
    assert message_body(address=ADA, template=template, opaque_id=OpaqueId(12, 7, 0)) == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+12025550101",
        "type": "template",
        "template": {"name": "hello", "language": {"code": "en_US"}, "components": components},
        "biz_opaque_callback_data": "12:7:0",
    }


def test_a_template_without_components_has_none_in_the_json() -> None:
    template = {"name": "hello_world", "language": "en_US", "components": ()}
    body = message_body(address=ADA, template=template, opaque_id="1:2:3")
    assert body["template"] == {"name": "hello_world", "language": {"code": "en_US"}}


def test_a_user_id_goes_into_recipient_because_in_to_it_is_lost() -> None:
    body = message_body(
        address=Address("bsuid", "US.1"), message={"type": "text"}, opaque_id="1:2:3"
    )
    assert body["recipient"] == "US.1"
    assert "to" not in body


def test_a_free_form_message_cannot_change_who_receives_it() -> None:
    message = {"type": "text", "text": {"body": "Hello"}, "to": "+1", "recipient_type": "group"}
    body = message_body(address=ADA, message=message, opaque_id="1:2:3")
    assert body == message | {
        "to": "+12025550101",
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "biz_opaque_callback_data": "1:2:3",
    }

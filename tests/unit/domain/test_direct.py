"""A direct send is sent whole or not at all."""

import json

import pytest

from sluice.domain.direct import DirectSend, direct_send
from sluice.domain.requests import SendRequest

NUMBER = "106540352242922"
TEMPLATE = {
    "name": "reminder",
    "language": "en_US",
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "{{name}}"}]}],
}


def checked(recipients, *, number=NUMBER, **content):
    body = {"id": "a", "phone_number_id": NUMBER, "recipients": recipients, **content}
    request = SendRequest.model_validate_json(json.dumps(body))
    return direct_send(request, phone_number_id=number, lane="conversation")


def person(address="+1 (202) 555-0101", **parameters):
    return {"address": address, "parameters": parameters}


def test_addresses_are_written_in_one_way_and_the_template_is_kept():
    direct = checked([person(name="Ada", other="x")], template=TEMPLATE)

    assert isinstance(direct, DirectSend)
    assert direct.recipients == [("+12025550101", {"name": "Ada", "other": "x"})]
    assert direct.message == {"template": TEMPLATE}


def test_a_free_form_message_needs_no_parameters():
    message = {"type": "text", "text": {"body": "Hello {{name}}"}}

    direct = checked([person(), person("US.13491208655302741918")], message=message)

    assert isinstance(direct, DirectSend)
    assert direct.message == {"message": message}
    assert [address for address, _ in direct.recipients] == [
        "+12025550101",
        "US.13491208655302741918",
    ]


def test_another_number_s_message_is_refused():
    (problem,) = checked([person(name="Ada")], number="1", template=TEMPLATE)

    assert str(problem) == "phone_number_id: is not the number of this queue"


def test_everything_that_is_wrong_is_told_by_its_place():
    problems = checked([person("0123"), person(name="Ada"), person(name=" ")], template=TEMPLATE)

    assert [problem.path for problem in problems] == [
        "recipients.0.address",
        "recipients.2.parameters.name",
    ]


@pytest.mark.parametrize("text", ["0123", "Zoë Smith 2025550101"])
def test_no_problem_tells_what_was_written(text):
    (problem,) = checked([person(text)], template=TEMPLATE)

    assert text not in str(problem)

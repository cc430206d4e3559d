"""How a person is found in what others wrote."""

import re

import pytest

from sluice.domain.erasure import pattern_of

PERSON = "+12025550101"
USER = "US.13491208655302741918"


@pytest.mark.parametrize(
    "text",
    [
        '{"from": "12025550101"}',
        '{"wa_id":"12025550101"}',
        "call +12025550101.",
        "12025550101",
        '{"user_id": "US.13491208655302741918"}',
    ],
)
def test_a_text_that_names_the_person_is_found(text):
    assert re.search(pattern_of([PERSON, USER]), text)


@pytest.mark.parametrize(
    "text",
    [
        '{"from": "120255501010"}',
        '{"from": "912025550101"}',
        '{"id": "wamidA12025550101"}',
        '{"user_id": "US.134912086553027419180"}',
        '{"user_id": "USX13491208655302741918"}',
        "",
    ],
)
def test_what_only_looks_like_the_person_is_not(text):
    assert not re.search(pattern_of([PERSON, USER]), text)


@pytest.mark.parametrize("digits", ["5531988887777", "553188887777"])
def test_every_way_to_write_the_number_is_found(digits):
    assert re.search(pattern_of(["+5531988887777"]), f'"{digits}"')

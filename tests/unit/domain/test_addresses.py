"""Addresses as people write them."""

import pytest

from sluice.domain.addresses import (
    Address,
    calling_code_of,
    is_in_the_united_states,
    parse_address,
)
from sluice.domain.problems import Problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("+12025550101", "+12025550101"),
        ("+1 (202) 555-0101", "+12025550101"),
        ("+1.202.555.0101", "+12025550101"),
        ("whatsapp:+447700900102", "+447700900102"),
        ("WhatsApp: +447700900102", "+447700900102"),
        ("tel:+447700900102", "+447700900102"),
        ("00447700900102", "+447700900102"),
        (" +44 7700\u00a0900102\n", "+447700900102"),
        ("+44 (0)7700 900102", "+447700900102"),
        ("+5511900000102", "+5511900000102"),
        ("+390612345678", "+390612345678"),
        ("+52 1 55 1234 5678", "+5215512345678"),
        ("+525512345678", "+525512345678"),
        ("+5491112345678", "+5491112345678"),
        ("+541112345678", "+541112345678"),
        ("+551134567890", "+551134567890"),
    ],
)
def test_a_phone_number_is_written_in_one_way(text: str, value: str) -> None:
    assert parse_address(text) == Address("phone", value)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("+12025550101", 1),
        ("+5511900000102", 55),
        ("+254300000101", 254),
        ("+80012345678", 800),
        ("US.13491208655302741918", None),
    ],
)
def test_the_calling_code_of_a_number_is_found(address: str, code: int | None) -> None:
    assert calling_code_of(address) == code


@pytest.mark.parametrize(
    "text", ["US.13491208655302741918", "US.ENT.11815799212886844830", "BR.a1B2", " IN.1 "]
)
def test_a_user_id_is_an_address(text: str) -> None:
    assert parse_address(text) == Address("bsuid", text.strip())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("whatsapp:", "is empty"),
        ("2025550101", "has no + and country code"),
        ("07700 900102", "has no + and country code"),
        ("call me", "has no + and country code"),
        ("us.1", "has no + and country code"),
        (f"US.{'1' * 129}", "has no + and country code"),
        ("US.1 2", "has no + and country code"),
        ("+1202555O1O1", "is not + and 7 to 15 digits"),
        ("+0123456789", "is not + and 7 to 15 digits"),
        ("+1202", "is not + and 7 to 15 digits"),
        ("+12025550", "has a length that no number of its country has"),
        ("+120255501012", "has a length that no number of its country has"),
        ("+4900000", "has a prefix that no number of its country has"),
        ("+9991234567890", "has a country code that does not exist"),
        ("+१२०२५५५०१०१", "is not + and 7 to 15 digits"),
        ("+1" * 100, "is longer than any address"),
    ],
)
def test_what_is_no_address_says_why(text: str, message: str) -> None:
    problem = parse_address(text)
    assert isinstance(problem, Problem)
    assert problem.message.startswith(message)


def test_a_problem_never_repeats_the_number() -> None:
    assert "202555" not in str(parse_address("2025550101"))


@pytest.mark.parametrize("address", ["+12025550101", "+12125550123", "+15055550101"])
def test_plus_1_with_an_area_code_there_is_the_united_states(address):
    assert is_in_the_united_states(address)


@pytest.mark.parametrize(
    "address",
    ["+14165550101", "+16045550101", "+18765550101", "+17875550101", "+16715550101"],
    ids=["Toronto", "Vancouver", "Jamaica", "Puerto Rico", "Guam"],
)
def test_canada_and_the_caribbean_share_plus_1_and_are_not_the_united_states(address):
    assert not is_in_the_united_states(address)


@pytest.mark.parametrize("address", ["+17105550101", "+447700900102", "US.13491208655302741918"])
def test_what_is_unclear_or_elsewhere_is_not_the_united_states(address):
    assert not is_in_the_united_states(address)

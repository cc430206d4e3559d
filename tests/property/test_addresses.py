"""Whatever is written, an address is found or refused, and never changed twice."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

from sluice.domain import addresses
from sluice.domain.addresses import Address, parse_address

E164 = st.builds(
    "+{}{}".format,
    st.sampled_from(sorted(COUNTRY_CODE_TO_REGION_CODE)) | st.integers(1, 999),
    st.from_regex(r"[0-9]{4,12}", fullmatch=True),
)


@given(st.text(max_size=200))
def test_any_text_is_an_address_or_a_problem(text: str) -> None:
    parse_address(text)


@given(E164)
def test_the_short_way_finds_what_the_library_finds(number: str) -> None:
    if addresses._is_plainly_possible(number):
        assert addresses._phone(number) == Address("phone", number)


@given(E164 | st.from_regex(r"[A-Z]{2}\.[A-Za-z0-9]{1,128}", fullmatch=True))
@example("+4407700900123")
@example("+4900000")
def test_an_address_that_was_parsed_is_parsed_to_itself(text: str) -> None:
    address = parse_address(text)
    if isinstance(address, Address):
        assert parse_address(address.value) == address


@given(st.from_regex(r"[1-9][0-9]{5,14}", fullmatch=True))
def test_a_country_code_is_never_guessed(digits: str) -> None:
    assert not isinstance(parse_address(digits), Address)


@pytest.mark.parametrize("calling_code", sorted(COUNTRY_CODE_TO_REGION_CODE))
def test_every_calling_code_has_a_plan(calling_code: int) -> None:
    assert addresses._plan(calling_code) is not None

"""Who a message goes to: a phone number in E.164, or a business-scoped user id (BSUID)."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from phonenumbers import (
    NumberParseException,
    PhoneMetadata,
    PhoneNumberFormat,
    ValidationResult,
    format_number,
    is_possible_number_with_reason,
    parse,
    region_code_for_country_code,
    region_code_for_number,
)

from sluice.domain.problems import Problem

ADDRESS_CHARACTERS_MAX: Final = 140
"""Meta: a column for a BSUID needs 140 characters."""


@dataclass(frozen=True, slots=True)
class Address:
    """A phone number (``+16505551234``) or a BSUID (``US.13491208655302741918``)."""

    kind: Literal["phone", "bsuid"]
    value: str


_BSUID: Final = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")
_PREFIX: Final = re.compile(r"(?:whatsapp|tel):", re.IGNORECASE)
_DECORATION: Final = re.compile(r"[\s().\-\u00a0\u2010-\u2015]+")
_E164: Final = re.compile(r"\+[1-9][0-9]{6,14}")
_CALLING_CODE_DIGITS_MAX: Final = 3
_MEXICO_1: Final = re.compile(r"\+521[2-9][0-9]{9}")
"""Mobile numbers had this 1 until 2019. WhatsApp still knows most of them by it."""


def parse_address(text: str) -> Address | Problem:
    """The address that ``text`` writes, or what is wrong with it. Nothing is ever guessed.

    A phone number needs its country code, after ``+`` or ``00``: Meta puts the country code of
    the business before a number that has none, and the message goes to a stranger. Spaces,
    dashes, dots, parentheses and a prefix ``whatsapp:`` or ``tel:`` are taken away.
    """
    if _is_plainly_possible(text):
        return Address("phone", text)
    stripped = text.strip()
    if prefix := _PREFIX.match(stripped):
        stripped = stripped[prefix.end() :].strip()
    if _BSUID.fullmatch(stripped):
        return Address("bsuid", stripped)
    if not stripped:
        return _problem("is empty")
    if len(stripped) > ADDRESS_CHARACTERS_MAX:
        return _problem("is longer than any address")
    number = _DECORATION.sub("", stripped)
    if number.startswith("00"):
        number = f"+{number[2:]}"
    return Address("phone", number) if _MEXICO_1.fullmatch(number) else _phone(number)


def is_in_the_united_states(address: str) -> bool:
    """Whether an address is +1 with an area code of the United States.

    Not of Canada, the Caribbean or the territories, which share +1, and not a BSUID: Meta's rule
    (per-user marketing template message limits) names phone numbers.
    """
    return address.startswith("+1") and _is_area_of_the_united_states(address[2:5])


@cache
def _is_area_of_the_united_states(area_code: str) -> bool:
    # Any subscriber number will do: the region is that of the area code.
    return region_code_for_number(parse(f"+1{area_code}2345678")) == "US"


def calling_code_of(address: str) -> int | None:
    """The calling code of a phone number in E.164, such as 55; None for a BSUID, which has none."""
    digits = address[1 : _CALLING_CODE_DIGITS_MAX + 1]
    return _calling_code(digits) if address.startswith("+") else None


@cache
def _calling_code(digits: str) -> int | None:
    codes = (int(digits[:length]) for length in range(1, len(digits) + 1))
    return next((code for code in codes if _plan(code) is not None), None)


def _phone(number: str) -> Address | Problem:
    if not number.startswith("+"):
        return _problem("has no + and country code, and is no user id")
    if not _E164.fullmatch(number):
        return _problem("is not + and 7 to 15 digits")
    try:
        parsed = parse(number)
    except NumberParseException:
        return _problem("has a country code that does not exist")
    if is_possible_number_with_reason(parsed) != ValidationResult.IS_POSSIBLE:
        return _problem("has a length that no number of its country has")
    address = Address("phone", format_number(parsed, PhoneNumberFormat.E164))
    # A trunk prefix, as in +44 (0)20, is taken away once; what then has another is no number.
    if address.value != number and _phone(address.value) != address:
        return _problem("has a prefix that no number of its country has")
    return address


def _problem(message: str) -> Problem:
    return Problem("address", message)


def _is_plainly_possible(text: str) -> bool:
    """The usual case at a tenth of the price: E.164 already, and nothing to be taken away.

    It says True only where ``_phone`` would return the same text; a test holds the two equal.
    """
    if not _E164.fullmatch(text):
        return False
    for digits in range(1, _CALLING_CODE_DIGITS_MAX + 1):
        plan = _plan(int(text[1 : digits + 1]))
        if plan is not None:
            national = text[digits + 1 :]
            return len(national) in plan.lengths and not plan.prefix.match(national)
    return False


@dataclass(frozen=True, slots=True)
class _Plan:
    """The numbers of one calling code: how long they are, and what ``parse`` would take away."""

    lengths: frozenset[int]
    prefix: re.Pattern[str]


@cache
def _plan(calling_code: int) -> _Plan | None:
    region = region_code_for_country_code(calling_code)
    metadata = PhoneMetadata.metadata_for_region_or_calling_code(calling_code, region)
    if metadata is None or metadata.general_desc is None:
        return None
    prefix = metadata.national_prefix_for_parsing
    return _Plan(
        frozenset(metadata.general_desc.possible_length),
        re.compile(f"0|(?:{prefix})" if prefix else "0"),
    )

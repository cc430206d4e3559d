"""Under which key a person is known, and by which words they ask."""

import pytest

from sluice.domain.suppressions import key_of_identity, match_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+5531988887777", "+553188887777"),
        ("+5511961234567", "+551161234567"),
        ("+525512345678", "+5215512345678"),
        ("+541123456789", "+5491123456789"),
        ("+542966123456", "+5492966123456"),
    ],
)
def test_two_ways_to_write_a_number_are_one_person(one, other):
    assert match_key(one) == match_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+553133334444", "+5531933334444"),
        ("+551125556666", "+5511925556666"),
        ("+525512345678", "+535512345678"),
        ("+5531988887777", "+5532988887777"),
        ("+12025550101", "+12025550102"),
        ("+5212345678", "+52112345678"),
        ("+54812345678", "+549812345678"),
    ],
)
def test_everybody_else_is_somebody_else(one, other):
    assert match_key(one) != match_key(other)


@pytest.mark.parametrize(
    "address", ["+553133334444", "+12025550101", "+491515500001", "US.13491208655302741918", "+55"]
)
def test_what_has_no_variants_is_its_own_key(address):
    assert match_key(address) == address


@pytest.mark.parametrize(
    ("identity", "key"),
    [
        ("12025550101", "+12025550101"),
        ("+12025550101", "+12025550101"),
        ("553188887777", "+5531988887777"),
        ("5215512345678", "+525512345678"),
        ("US.13491208655302741918", "US.13491208655302741918"),
        ("US.ENT.13491208655302741918", "US.ENT.13491208655302741918"),
        ("", None),
        ("somebody", None),
        ("0151234567", None),
        (12025550101, None),
        (None, None),
    ],
)
def test_an_identity_of_a_webhook_is_the_key_of_its_address(identity, key):
    assert key_of_identity(identity) == key

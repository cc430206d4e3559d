"""Under which key a person is known, and by which words they ask."""

import pytest

from sluice.domain.suppressions import (
    START_WORDS,
    STOP_WORDS,
    key_of_identity,
    match_key,
    request_of,
)


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


@pytest.mark.parametrize(
    "text",
    ["STOP", " stop.\n", "Stop! \U0001f6d1", "\u26d4\ufe0f stop", "S\uff34OP", "opt-out", "OPT_OUT",
     "Stop promotions", "PARAR", "arrêt", "ARRET", "रोकें", "बंद करें।", "إيقاف", "acha"],
)  # fmt: skip
def test_a_message_that_is_a_stop_word_asks_to_stop(text):
    assert request_of(text) == "stop"


@pytest.mark.parametrize("text", ["START", "Unstop", "opt-in", "M'abonner", "शुरू करें", "anza!"])
def test_a_message_that_is_a_start_word_asks_to_start(text):
    assert request_of(text) == "start"


@pytest.mark.parametrize(
    "text",
    ["", "...", "please do not stop", "Where is the bus stop?", "nonstop", "cancel", "Cancelar",
     "stop " * 50, "\U0001f6d1"],
)  # fmt: skip
def test_any_other_message_asks_for_nothing(text):
    assert request_of(text) is None


@pytest.mark.parametrize("asked", ["stop", "start"])
def test_every_language_has_words_and_each_is_understood(asked):
    words = {"stop": STOP_WORDS, "start": START_WORDS}[asked]

    assert set(words) == {"en", "es", "pt", "fr", "de", "it", "hi", "ar", "sw"}
    assert {request_of(word) for language in words.values() for word in language} == {asked}

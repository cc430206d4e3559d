"""By which words people ask to stop and to start, built in or changed by a stage."""

import json

import pytest

from sluice.domain.words import (
    BUILT_IN,
    START_WORDS,
    STOP_WORDS,
    WordsInvalidError,
    vocabulary_from,
)

request_of = BUILT_IN.request_of


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


def changes(**changed):
    return vocabulary_from(json.dumps(changed))


def test_a_stage_that_changes_nothing_has_the_words_that_are_built_in():
    assert changes() == BUILT_IN


def test_a_stage_adds_words_to_a_language_and_languages_to_all():
    vocabulary = changes(stop_words={"sw": {"add": ["Komesha!"]}, "pl": {"add": ["rezygnuję"]}})

    asked = [vocabulary.request_of(word) for word in ("komesha", "Rezygnuję.", "acha", "stop")]
    assert asked == ["stop"] * 4
    assert request_of("komesha") is None


def test_a_stage_replaces_the_words_of_a_language_and_no_other():
    vocabulary = changes(stop_words={"es": {"replace": ["basta"]}})

    asked = [vocabulary.request_of(word) for word in ("basta", "detener promociones", "stop")]
    assert asked == ["stop", None, "stop"]


def test_a_payload_stops_only_as_what_a_button_sends():
    vocabulary = changes(stop_payloads=["OPT_OUT_V2"])

    assert vocabulary.request_of("OPT_OUT_V2", payload=True) == "stop"
    assert vocabulary.request_of("OPT_OUT_V2") is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"start_words": {"en": {"add": ["stop"]}}}, "stops and starts: stop"),
        ({"stop_words": {"de": {"add": ["start"]}}}, "stops and starts: start"),
        ({"stop_payloads": ["ANZA"]}, "stops and starts: anza"),
        ({"stop_words": {"de": {"add": ["🛑!"]}}}, "has a word without a letter or a digit"),
    ],
)
def test_words_that_cannot_be_told_apart_are_refused(changed, said):
    with pytest.raises(WordsInvalidError, match=said):
        changes(**changed)

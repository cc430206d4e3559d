"""Texts that Meta would refuse, found without a look at Meta."""

import pytest

from sluice.domain.audience import AudienceRow, RejectedRow, Wanted
from sluice.domain.texts import texts_of
from tests.templates import body, button, message, texts

BROKEN = "has a line break, a tab or more than four spaces in a row"


def flaw(value, *components, text="{{name}}"):
    (found, *_) = texts_of(message(*components or [body(text)]))
    return found.flaw({"name": value})


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\tb", "a     b"])
def test_breaks_tabs_and_five_spaces_are_refused(value):
    assert flaw(value) == f"the text of body {BROKEN}"


@pytest.mark.parametrize("value", ["a    b", "Zoë 🎉", "a\u00a0b", "x" * 4_000])
def test_anything_else_is_taken(value):
    assert flaw(value) is None


def test_spaces_count_across_the_edge_of_a_value():
    assert flaw("  a", text="Dear   {{name}}") == f"the text of body {BROKEN}"
    assert flaw("a", text="Dear   {{name}}") is None


@pytest.mark.parametrize(
    ("components", "characters_max"),
    [
        ([{"type": "header", "parameters": texts("{{name}}")}], 60),
        ([body("{{name}}"), button("0", "quick_reply", type="payload", payload="x")], 1_024),
        ([body("{{name}}")], 32_768),
    ],
)
def test_a_text_is_as_long_as_its_place_allows(components, characters_max):
    where = components[0]["type"]

    assert flaw("x" * characters_max, *components) is None
    assert flaw("x" * (characters_max + 1), *components) == (
        f"the text of {where} is longer than {characters_max} characters"
    )


def test_the_text_of_a_button_and_of_a_card_is_looked_at():
    card = {"components": [body("{{name}}")]}
    found = texts_of(
        message(
            button("1", "url", type="text", text="{{code}}"), {"type": "carousel", "cards": [card]}
        )
    )

    assert [one.where for one in found] == ["button 1", "card 0 body"]


def test_what_is_no_text_is_nothing_to_look_at():
    odd = [{"type": "body", "parameters": 7}, {"type": "body", "parameters": ["x", {"text": "x"}]}]

    assert texts_of(message(*odd, {"type": 7, "cards": [1, {}]})) == ()


def test_a_row_that_meta_would_refuse_is_rejected_with_the_reason():
    wanted = Wanted(frozenset({"name"}), (), texts=texts_of(message(body("Dear {{name}}"))))

    good = wanted.row(1, {"address": "+12025550101", "name": "Ada"})
    bad = wanted.row(2, {"address": "+12025550101", "name": "Ada\nLovelace"})

    assert isinstance(good, AudienceRow)
    assert bad == RejectedRow(2, f"the text of body {BROKEN}")

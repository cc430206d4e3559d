"""The check of a template bears anything, and is silent only where Meta would be."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.fit import misfits
from sluice.domain.graph import template_of
from sluice.domain.media import media_of, misnamed_media, with_media
from sluice.domain.texts import texts_of
from tests.templates import body, listed, message, stored

KEYS = st.sampled_from([
    "type", "format", "text", "parameters", "buttons", "cards", "components", "index", "sub_type",
    "url", "image", "s3", "id", "limited_time_offer", "has_expiration", "parameter_name",
])  # fmt: skip
WORDS = st.sampled_from([
    "HEADER", "body", "BUTTONS", "button", "carousel", "IMAGE", "image", "TEXT", "text", "URL",
    "{{1}}", "{{name}}", "s3://bucket/a.png", "0", "1",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
COMPONENTS = st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3)


def told(wanted, known):
    return misfits(wanted, [known], category="utility")


@given(COMPONENTS, JSON)
def test_whatever_is_published_and_whatever_meta_lists_the_check_answers(wanted, kept):
    known = template_of(listed(components=kept))
    assert known is not None

    for problem in told(message(*wanted), known):
        assert problem.message


@given(COMPONENTS)
def test_texts_and_media_are_found_in_whatever_is_published(wanted):
    template = message(*wanted)

    texts_of(template)
    if misnamed_media(template) is None:
        ids = {ref.uri: "17" for ref in media_of(template)}
        assert media_of(with_media(template, ids)) == ()


@given(st.integers(0, 12), st.integers(0, 12))
def test_a_body_fits_exactly_if_it_has_as_many_parameters(takes, gives):
    text = " ".join(f"{{{{{place}}}}}" for place in range(1, takes + 1)) or "static"

    found = told(message(body(*["x"] * gives)), stored({"type": "BODY", "text": text}))

    assert (found == []) is (takes == gives)


@given(st.sets(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef"), max_size=6))
def test_named_parameters_fit_exactly_if_each_name_comes_once(takes, gives):
    text = " ".join(f"{{{{{name}}}}}" for name in sorted(takes)) or "static"
    parameters = [{"type": "text", "text": "x", "parameter_name": name} for name in gives]
    known = stored({"type": "BODY", "text": text}, parameter_format="NAMED")

    found = told(message({"type": "body", "parameters": parameters}), known)

    assert (found == []) is (sorted(takes) == sorted(gives))


@given(st.text(max_size=80))
def test_a_row_is_refused_exactly_for_what_meta_refuses(value):
    (text,) = texts_of(message({"type": "header", "parameters": body("{{name}}")["parameters"]}))

    refused = (
        not value.strip()
        or any(one in value for one in ("\n", "\r", "\t", " " * 5))
        or len(value) > 60
    )
    assert (text.flaw({"name": value}) is not None) is refused

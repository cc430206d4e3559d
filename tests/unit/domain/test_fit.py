"""What is wrong with a template message, told before anybody gets it."""

import pytest

from sluice.domain.fit import misfits
from tests.templates import body, button, header, message, stored, texts

BODY = {"type": "BODY", "text": "Dear {{1}}, see you on {{2}}."}
PLAIN = {"type": "BODY", "text": "See you soon."}


def told(wanted, *known, category="utility"):
    """Every problem, as a person reads it."""
    return [str(one) for one in misfits(wanted, known, category=category)]


def against(component, *wanted):
    """The problems of a message with a template of one component beside a plain body."""
    return told(message(*wanted), stored(PLAIN, component))


def buttons(*buttons):
    return {"type": "BUTTONS", "buttons": list(buttons)}


def test_a_message_that_fits_has_no_problems():
    assert told(message(body("{{name}}", "Monday")), stored(BODY)) == []


def test_a_template_that_is_not_there_is_named():
    assert told(message()) == ["template: there is none of the name reminder"]


def test_a_language_that_is_not_there_is_answered_by_those_that_are():
    known = [stored(language=language) for language in ("pt_BR", "en_GB")]

    assert told(message(), *known) == ["template: there is none in en_US, only in en_GB, pt_BR"]


def test_a_language_with_a_hyphen_is_the_same():
    assert told(message(body("a", "b")), stored(BODY, language="en-US")) == []


@pytest.mark.parametrize("status", ["PAUSED", "PENDING", "REJECTED", "DISABLED", "NEW_IN_2027"])
def test_only_an_approved_template_is_sent(status):
    known = stored(BODY, status=status)

    assert told(message(body("a", "b")), known) == [f"template: is {status}, not APPROVED"]


@pytest.mark.parametrize(
    ("category", "kept", "problems"),
    [
        ("utility", "UTILITY", 0),
        ("utility", "MARKETING", 1),
        ("utility", "AUTHENTICATION", 1),
        ("service", "UTILITY", 1),
        ("utility", "", 0),
        ("marketing", "MARKETING", 0),
        ("marketing", "UTILITY", 0),
    ],
)
def test_a_category_is_the_templates_or_marketing(category, kept, problems):
    wanted, known = message(body("a", "b")), stored(BODY, category=kept)

    found = told(wanted, known, category=category)

    expected = f"category: is {category}, but the template's is {kept}"
    assert found == [expected] * problems


@pytest.mark.parametrize(
    ("values", "words"),
    [((), "2 parameters, not 0"), (("a",), "not 1"), (("a", "b", "c"), "not 3")],
)
def test_a_wrong_number_of_parameters_says_the_right_one(values, words):
    (problem,) = told(message(body(*values)), stored(BODY))

    assert problem.startswith("template.body: the template takes 2 parameters")
    assert words in problem


def test_a_body_that_is_missing_altogether_is_a_wrong_number_too():
    assert told(message(), stored(BODY)) == [
        "template.body: the template takes 2 parameters, not 0"
    ]


def test_a_variable_that_comes_twice_is_filled_once():
    twice = {"type": "BODY", "text": "{{1}} and {{1}}"}

    assert told(message(body("a")), stored(twice)) == []


NAMED = {"type": "BODY", "text": "Dear {{name}}, see you on {{day}}."}


def named(*names):
    return {"type": "body", "parameters": [texts("x", parameter_name=one)[0] for one in names]}


@pytest.mark.parametrize("told_format", [{"parameter_format": "NAMED"}, {"parameter_format": None}])
def test_named_parameters_come_in_any_order(told_format):
    assert told(message(named("day", "name")), stored(NAMED, **told_format)) == []


@pytest.mark.parametrize(
    ("wanted", "problems"),
    [
        (named("name"), ["template.body: no parameter is named day"]),
        (
            named("name", "day", "hour"),
            ["template.body: hour: no name of the template, which has name, day"],
        ),
        (named("name", "day", "day"), ["template.body: a parameter_name comes twice"]),
        (
            body("a", "b"),
            [
                "template.body: the template's parameters have names: parameter_name",
                "template.body: no parameter is named day, name",
                "template.body: a parameter_name comes twice",
            ],
        ),
    ],
)
def test_names_must_be_the_templates(wanted, problems):
    assert told(message(wanted), stored(NAMED, parameter_format="NAMED")) == problems


def test_a_template_of_places_takes_no_names():
    assert told(message(named("name", "day")), stored(BODY)) == [
        "template.body: the template's parameters have places, not names"
    ]


def test_currency_fills_a_variable_and_an_image_does_not():
    money = {"type": "currency", "currency": {"code": "USD", "amount_1000": 1}}
    image = {"type": "image", "image": {"id": "1"}}
    wanted = {"type": "body", "parameters": [money, image]}

    assert told(message(wanted), stored(BODY)) == [
        "template.body: a parameter of it is a text, a currency or a date_time"
    ]


@pytest.mark.parametrize("kind", ["image", "video", "document"])
@pytest.mark.parametrize("source", ["id", "link", "s3"])
def test_a_header_of_media_takes_one_of_its_kind(kind, source):
    known = {"type": "HEADER", "format": kind.upper()}

    assert against(known, header(kind, {source: "x"})) == []


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ((), "the template takes one parameter of type image"),
        ((header("video", {"id": "1"}),), "the template takes one parameter of type image"),
        ((header("image", {}),), "the image is named by one of s3, id and link"),
        ((header("image", {"id": "1", "link": "x"}),), "the image is named by one of"),
        (
            ({"type": "header", "parameters": texts("a")},),
            "the template takes one parameter of type image",
        ),
    ],
)
def test_a_header_of_media_takes_nothing_else(wanted, problem):
    (found,) = against({"type": "HEADER", "format": "IMAGE"}, *wanted)

    assert found.startswith(f"template.header: {problem}")


def test_a_location_has_its_two_numbers():
    known = {"type": "HEADER", "format": "LOCATION"}
    place = {"latitude": "1.5", "longitude": "2.5", "name": "City Clinic"}

    assert against(known, header("location", place)) == []
    assert against(known, header("location", {"name": "City Clinic"})) == [
        "template.header: a location has a latitude and a longitude"
    ]


def test_a_header_of_text_takes_its_variable():
    known = {"type": "HEADER", "format": "TEXT", "text": "For {{1}}"}
    right = {"type": "header", "parameters": texts("{{name}}")}

    assert against(known, right) == []
    assert against(known) == ["template.header: the template takes one parameter, not 0"]


def test_a_header_that_the_template_has_not_is_a_problem():
    assert told(message(header("image", {"id": "1"})), stored(PLAIN)) == [
        "template.header: the template has none"
    ]


def test_static_headers_footers_and_buttons_ask_for_nothing():
    known = stored(
        {"type": "HEADER", "format": "TEXT", "text": "Hello"},
        PLAIN,
        {"type": "FOOTER", "text": "City Clinic"},
        buttons(
            {"type": "QUICK_REPLY", "text": "Stop"},
            {"type": "URL", "text": "See", "url": "https://example.org"},
            {"type": "PHONE_NUMBER", "text": "Call", "phone_number": "+12025550101"},
        ),
    )

    assert told(message(), known) == []


BUTTONS = {
    "QUICK_REPLY": button("0", "quick_reply", type="payload", payload="stop"),
    "URL": button("0", "url", type="text", text="{{code}}"),
    "COPY_CODE": button(0, "copy_code", type="coupon_code", coupon_code="SAVE"),
    "OTP": button("0", "url", type="text", text="{{code}}"),
    "FLOW": button("0", "flow", type="action", action={"flow_token": "x"}),
    "CATALOG": button("0", "CATALOG", type="action", action={"thumbnail_product_retailer_id": "1"}),
    "MPM": button("0", "mpm", type="action", action={"sections": []}),
    "ORDER_DETAILS": button("0", "order_details", type="action", action={"order_details": {}}),
}
NEEDED = ("URL", "COPY_CODE", "OTP", "MPM", "ORDER_DETAILS")


def of_type(kind):
    return buttons({"type": kind, "text": "x", "url": "https://example.org/{{1}}"})


@pytest.mark.parametrize("kind", BUTTONS)
def test_each_button_takes_its_own_parameter(kind):
    assert against(of_type(kind), BUTTONS[kind]) == []


@pytest.mark.parametrize("kind", BUTTONS)
def test_only_some_buttons_need_one(kind):
    assert bool(against(of_type(kind))) == (kind in NEEDED)


@pytest.mark.parametrize("kind", BUTTONS)
def test_a_button_of_another_kind_is_told_the_right_one(kind):
    (problem,) = against(of_type(kind), button("0", "no_such_type", type="text", text="x"))

    expected = BUTTONS[kind]["sub_type"].lower()
    assert problem == f"template.buttons.0: sub_type is {expected} in the template"


@pytest.mark.parametrize("kind", BUTTONS)
def test_a_button_without_its_parameter_is_a_problem(kind):
    sub_type = BUTTONS[kind]["sub_type"]

    for wanted in (button("0", sub_type), button("0", sub_type, type="nothing")):
        (problem,) = against(of_type(kind), wanted)
        assert problem.startswith("template.buttons.0: takes one parameter, a ")


@pytest.mark.parametrize(
    "known",
    [
        {"type": "URL", "text": "See", "url": "https://example.org"},
        {"type": "PHONE_NUMBER", "text": "Call"},
    ],
)
def test_a_static_button_takes_nothing(known):
    (problem,) = against(buttons(known), button("0", "url", type="text", text="x"))

    assert problem.endswith("of this template takes no parameters")


def test_a_button_of_a_kind_that_we_do_not_know_is_let_pass():
    known = buttons({"type": "REQUEST_CONTACT_INFO"})

    assert against(known) == against(known, button("0", "x", type="y")) == []


@pytest.mark.parametrize("index", ["1", "-1", "first", None, 1.5])
def test_a_button_that_is_not_there_is_told_which_are(index):
    known = buttons({"type": "QUICK_REPLY", "text": "Stop"})

    assert against(known, button(index, "quick_reply", type="payload", payload="x")) == [
        "template.buttons: the template has 1 buttons, from 0 to 0"
    ]


def test_a_button_comes_once():
    one = BUTTONS["QUICK_REPLY"]

    assert against(of_type("QUICK_REPLY"), one, one) == ["template.buttons.0: comes twice"]


@pytest.mark.parametrize("kind", ["footer", "heading", "", None])
def test_a_component_that_no_message_has_is_a_problem(kind):
    assert len(told(message({"type": kind, "parameters": []}), stored(PLAIN))) == 1


def test_two_bodies_are_one_too_many():
    found = told(message(body("a", "b"), body("a", "b")), stored(BODY))

    assert found == ["template: has two components body"]


CARD = {
    "components": [
        {"type": "HEADER", "format": "IMAGE"},
        {"type": "BODY", "text": "{{1}}"},
        {"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY", "text": "More"}]},
    ]
}


def carousel(*cards):
    return {
        "type": "carousel",
        "cards": [
            {"card_index": place, "components": list(card)} for place, card in enumerate(cards)
        ],
    }


def test_the_cards_of_a_carousel_are_looked_at_one_by_one():
    known = stored(PLAIN, {"type": "CAROUSEL", "cards": [CARD, CARD]})
    right = (header("image", {"id": "1"}), body("a"))
    wrong = (header("image", {"id": "1"}), body())

    assert told(message(carousel(right, right)), known) == []
    assert told(message(carousel(right, wrong)), known) == [
        "template.cards.1.body: the template takes one parameter, not 0"
    ]
    assert told(message(carousel(right)), known) == ["template.carousel: the template has 2 cards"]
    assert told(message(carousel(right)), stored(PLAIN)) == [
        "template.carousel: the template has none"
    ]


def test_an_offer_that_expires_says_when():
    known = {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"has_expiration": True}}
    wanted = {
        "type": "limited_time_offer",
        "parameters": [
            {"type": "limited_time_offer", "limited_time_offer": {"expiration_time_ms": 1}}
        ],
    }

    assert against(known, wanted) == []
    assert len(against(known)) == 1


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("two\nlines", "has a line break, a tab or more than four spaces in a row"),
        ("a\ttab {{name}}", "has a line break, a tab or more than four spaces in a row"),
        ("five     spaces", "has a line break, a tab or more than four spaces in a row"),
        (" ", "is blank"),
    ],
)
def test_a_text_that_everybody_would_be_refused_with_is_a_problem(text, flaw):
    assert told(message(body(text, "b")), stored(BODY)) == [f"template: the text of body {flaw}"]


def test_everything_is_told_at_once():
    wanted = message(body("a"), header("image", {"id": "1"}), button("3", "url"))

    found = told(wanted, stored(BODY, status="PAUSED", category="MARKETING"))

    assert [one.partition(":")[0] for one in found] == [
        "template",
        "category",
        "template.header",
        "template.body",
        "template.buttons",
    ]


def test_what_meta_lists_in_another_shape_is_let_pass():
    odd = [{"type": "BODY", "text": None}, {"type": "BUTTONS", "buttons": 7}, {"type": 7}]

    assert told(message(), stored(*odd)) == []

"""A test of a campaign becomes direct sends."""

from dataclasses import replace

import pytest

from sluice.domain.carried import Refused
from sluice.domain.models.command import Trial
from sluice.domain.trial import Subject, sends_of, subject_of
from tests.templates import body, header, message

URI = "s3://audiences/clinic.png"
PLAIN = Subject(message(body("Dear {{name}}")), ("1", "2"), frozenset())
PICTURED = Subject(
    message(header("image", {"s3": URI}), body("Dear {{name}}")), ("1", "2"), frozenset({URI})
)
ADA = {"address": "+12025550101", "parameters": {"name": "Ada"}}


def sends(subject=PLAIN, *, media=None, people=(ADA,), **more):
    order = Trial.model_validate(
        {"action": "test", "campaign": "c", "id": "first", "recipients": tuple(people), **more}
    )
    return sends_of(order, subject, media or {})


def test_each_number_sends_under_an_id_of_its_own():
    made = sends()

    assert [(one.id, one.phone_number_id, one.lane) for one in made] == [
        ("test:first:1", "1", "conversation"),
        ("test:first:2", "2", "conversation"),
    ]
    assert made[0].template.model_dump(mode="json") == dict(PLAIN.template)
    assert [person.address for person in made[0].recipients] == [ADA["address"]]


def test_some_of_the_numbers_may_be_named():
    assert [one.phone_number_id for one in sends(numbers=("2",))] == ["2"]


def test_a_number_of_another_campaign_is_refused():
    assert sends(numbers=("2", "3")) == Refused(["numbers: 3 is none of the campaign's"])


def test_media_go_by_the_id_of_each_number():
    made = sends(PICTURED, media={"1": {URI: "17"}, "2": {URI: "18"}})

    assert [one.template.components[0] for one in made] == [
        header("image", {"id": "17"}),
        header("image", {"id": "18"}),
    ]


def test_a_number_without_the_media_says_what_to_do():
    refused = sends(PICTURED, media={"1": {URI: "17"}})

    assert refused == Refused(["numbers: 2: no media; publish the campaign again to upload them"])


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        ({"address": "2025550101", "parameters": {"name": "Ada"}}, "recipients.1.address"),
        ({"address": "+12025550101"}, "recipients.1.parameters.name"),
        ({"address": "+12025550101", "parameters": {"name": "a\nb"}}, "recipients.1: the text"),
    ],
)
def test_one_person_who_cannot_be_sent_refuses_the_test(person, reason):
    refused = sends(people=(ADA, person))

    assert isinstance(refused, Refused)
    assert refused.reasons[0].startswith(reason)


SPLIT = subject_of(
    message(body("Dear {{name}}")),
    numbers=["1", "2"],
    media=[],
    variants=[
        {"name": "a", "share": 0.5, "template": None},
        {"name": "b", "share": 0.4, "template": message(body("Hello {{name}}"))},
    ],
)


def test_everything_that_anybody_may_get_is_tested():
    assert [one.id for one in sends(SPLIT, numbers=("1",))] == [
        "test:first:1",
        "test:first:1:a",
        "test:first:1:b",
    ]


def test_where_everybody_gets_a_variant_the_template_of_the_campaign_is_not_tested():
    whole = replace(SPLIT, whole=True)

    assert [one.id for one in sends(whole, numbers=("1",))] == ["test:first:1:a", "test:first:1:b"]


def test_one_variant_may_be_named():
    made = sends(SPLIT, variant="b")

    assert [one.id for one in made] == ["test:first:1:b", "test:first:2:b"]
    assert made[0].template.model_dump(mode="json") == dict(SPLIT.variants["b"])


def test_a_variant_of_another_campaign_is_refused():
    assert sends(SPLIT, variant="c") == Refused(["variant: c is none of the campaign's"])


def test_the_people_of_a_test_need_what_each_variant_needs():
    needy = replace(SPLIT, variants={"a": message(body("{{place}}"))})

    assert sends(needy) == Refused(["recipients.0.parameters.place: is missing or blank"])

"""Uploads by number, and what a sender makes of them."""

from datetime import timedelta

import pytest

from sluice.adapters.postgres.claims import Claims
from sluice.domain.requests import CampaignRequest, request_hash
from tests.conftest import NOW, NUMBER, OTHER_NUMBER
from tests.templates import body, header, message

URI, ETAG = "s3://audiences/clinic.png", '"e1"'
DAY = timedelta(days=1)


@pytest.fixture
def pictured(world):
    """A campaign whose header is a picture."""
    template = message(header("image", {"s3": URI}), body("{{name}}"))
    request = CampaignRequest.model_validate(
        {
            "campaign": "pictured",
            "template": template | {"components": tuple(template["components"])},
            "numbers": (NUMBER, OTHER_NUMBER),
            "audience": {"s3": "s3://audiences/people.csv"},
        }
    )
    stored = world.campaigns.create(
        request, request_hash=request_hash(request), now=NOW, media={URI: ETAG}
    )
    return stored.campaign_id


def upload(world, number=NUMBER, media_id="17", *, etag=ETAG, at=NOW):
    world.media.store(number, URI, etag, media_id=media_id, uploaded_at=at)


def missing(world, since=NOW - DAY):
    return world.media.missing([NUMBER, OTHER_NUMBER], URI, ETAG, since=since)


def image(policy):
    return policy.template["components"][0]["parameters"][0]["image"]


def test_a_number_misses_a_file_until_it_is_uploaded_for_it(world):
    assert missing(world) == [NUMBER, OTHER_NUMBER]

    upload(world)
    upload(world, OTHER_NUMBER, etag='"another content"')

    assert missing(world) == [OTHER_NUMBER]


def test_an_old_upload_is_missing_again(world):
    upload(world)

    assert missing(world, since=NOW) == [NUMBER, OTHER_NUMBER]


def test_of_two_uploads_the_later_counts_in_whatever_order_they_are_kept(world, pictured):
    upload(world, media_id="18", at=NOW + DAY)
    upload(world, media_id="17")

    assert world.media.ids("pictured", since=NOW - DAY) == {NUMBER: {URI: "18"}}


def test_a_sender_gets_the_template_with_its_own_id(world, pictured):
    upload(world)
    upload(world, OTHER_NUMBER, "18")

    policies = [
        Claims(world.database, phone_number_id=number, lane="bulk").policy(pictured)
        for number in (NUMBER, OTHER_NUMBER)
    ]

    assert [image(policy) for policy in policies] == [{"id": "17"}, {"id": "18"}]
    assert {policy.media_until for policy in policies} == {NOW + 29 * DAY}


def test_a_sender_without_an_upload_may_not_send_and_asks_again_at_its_next_claim(world, pictured):
    upload(world, OTHER_NUMBER)
    assert world.claims.policy(pictured).media_until < NOW
    upload(world)
    assert world.claims.policy(pictured).media_until < NOW

    world.claim(pictured)

    assert world.claims.policy(pictured).media_until > NOW


def test_a_sender_whose_upload_meta_forgets_asks_again(world, pictured):
    upload(world)
    assert image(world.claims.policy(pictured)) == {"id": "17"}
    upload(world, media_id="18", at=NOW + 28 * DAY)

    world.claim(pictured, now=NOW + 29 * DAY)

    assert image(world.claims.policy(pictured)) == {"id": "18"}


def test_a_campaign_without_media_may_be_sent_for_ever(world):
    assert world.claims.policy(world.campaign()).media_until.year == 9999

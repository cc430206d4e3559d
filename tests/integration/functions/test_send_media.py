"""send.handle and the media of a header: each number by its own id, or not at all."""

import json
from datetime import timedelta

import pytest

from sluice import metrics
from sluice.adapters.postgres.media import Media
from tests.conftest import NOW, NUMBER, OTHER_NUMBER
from tests.integration.functions.ports import event_of, failed
from tests.integration.functions.test_send import send  # noqa: F401 - a fixture
from tests.templates import body, header, message

URI, ETAG = "s3://audiences/clinic.png", '"e1"'


@pytest.fixture
def pictured(world):
    """A queued campaign of three whose header is a picture."""
    template = message(header("image", {"s3": URI}), body("{{name}}"))
    campaign_id = world.campaign(3, template=template, numbers=[NUMBER, OTHER_NUMBER])
    world.database.fetch("UPDATE campaign SET media = %s", (json.dumps({URI: ETAG}),))
    world.queue(campaign_id)
    return campaign_id


def chunk(campaign_id):
    request = {"kind": "send", "campaign_id": campaign_id, "seqs": [1, 2, 3]}
    return event_of(request, kind="send", phone_number_id=NUMBER, lane="bulk")


def upload(world, number=NUMBER, at=NOW):
    Media(world.database).store(number, URI, ETAG, media_id=f"of-{number}", uploaded_at=at)


def test_a_picture_goes_by_the_id_of_the_number_that_sends(send, world, pictured):  # noqa: F811
    upload(world)
    upload(world, OTHER_NUMBER)

    send.run(chunk(pictured))

    headers = [sent["template"]["components"][0] for sent in send.api.bodies]
    assert headers == [header("image", {"id": f"of-{NUMBER}"})] * 3


def test_a_number_without_the_picture_hands_its_rows_back_unburned_and_says_so(
    send,  # noqa: F811
    world,
    pictured,
    clock,
):
    upload(world, OTHER_NUMBER)

    answer = send.run(chunk(pictured))

    row = world.row(pictured)
    assert not failed(answer)
    assert send.api.bodies == []
    assert (row["state"], row["attempt"], row["phone_number_id"]) == ("pending", 0, None)
    assert row["due_at"] == clock.now() + timedelta(seconds=60)
    assert send.telemetry.counts()[metrics.NEEDS_PERSON.name] == 1
    assert world.counters_equal_rows()


def test_a_picture_that_meta_is_about_to_forget_is_not_sent(
    send,  # noqa: F811
    world,
    pictured,
):
    upload(world, at=NOW - timedelta(days=29))

    send.run(chunk(pictured))

    assert world.states(pictured) == {"pending": 3}


def test_after_the_upload_the_rows_go_out(send, world, pictured, clock):  # noqa: F811
    send.run(chunk(pictured))
    upload(world)
    clock.advance(61)
    world.queue(pictured, now=clock.now())

    send.run(chunk(pictured))

    assert len(send.api.bodies) == 3
    assert world.row(pictured)["attempt"] == 1

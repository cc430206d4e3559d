"""command.handle and report.handle: tests of campaigns, as direct sends."""

import json

import pytest

from functions.report.handler import handle as report
from sluice.domain.direct import direct_send
from sluice.domain.requests import SendRequest, parse, request_hash
from tests.conftest import NOW, NUMBER, OTHER_NUMBER, SetClock
from tests.integration.functions.ports import event_of, failed, reasons


@pytest.fixture
def order(load_event):
    body = json.loads(load_event("command/test")["Records"][0]["body"])
    return lambda **changes: event_of(body | changes, kind="command")


def published(aws):
    """(attributes, request) of every send that was published."""
    sends = []
    for letter in aws.letters("published"):
        request = parse(letter.body, letter.attributes)
        assert isinstance(request, SendRequest), request
        sends.append((letter.attributes, request))
    return sorted(sends, key=lambda one: one[1].id)


def test_a_test_is_published_to_the_queue_of_each_number_in_the_lane_of_conversations(
    campaign, command, aws, load_event, order
):
    campaign.run(load_event("campaign/s3"))

    assert not failed(command.run(order(campaign="vaccination-2026-12-all")))

    sends = published(aws)
    assert [attributes for attributes, _ in sends] == [
        {"kind": "send", "phone_number_id": number, "lane": "conversation"}
        for number in (NUMBER, OTHER_NUMBER)
    ]
    assert sends[0][1].id == f"test:first-look:{NUMBER}"
    assert sends[0][1].template.name == "vaccination_reminder"


@pytest.mark.parametrize("state", ["paused", "cancelled", "running"])
def test_a_test_asks_nothing_of_the_campaign_s_state(
    campaign, command, aws, world, load_event, order, state
):
    campaign.run(load_event("campaign/inline"))
    world.orders.command_campaign("vaccination-2026-12", state=state, reason=None)

    command.run(order())

    assert len(published(aws)) == 1


def test_a_test_published_twice_is_stored_once(campaign, command, aws, world, load_event, order):
    campaign.run(load_event("campaign/inline"))
    for _ in range(2):
        command.run(order())

    for _, request in published(aws):
        direct = direct_send(request, phone_number_id=NUMBER, lane=request.lane)
        keys = world.campaigns.store_direct(
            request, direct, request_hash=request_hash(request), now=NOW
        )
        assert keys is not None, "the same content both times"

    assert world.database.fetch("SELECT count(*) FROM direct_send") == [(1,)]
    assert report(
        {"test": "first-look"},
        reports=world.reports,
        resends=None,
        messages=None,
        prices=None,
        clock=SetClock(),
    ) == {
        "test": "first-look",
        "messages": [
            {
                "phone_number_id": NUMBER,
                "recipient": 1,
                "state": "queued",
                "status": "none",
                "error_code": None,
                "variant": None,
            }
        ],
    }


def test_a_test_goes_out_with_the_media_of_each_number(
    campaign, command, aws, world, load_event, order
):
    campaign.run(load_event("campaign/media"))

    command.run(order(campaign="opening-2026-12"))

    ids = world.media.ids("opening-2026-12", since=NOW.replace(year=2000))
    for _, request in published(aws):
        header = request.template.model_dump(mode="json")["components"][0]
        (media_id,) = ids[request.phone_number_id].values()
        assert header["parameters"] == [{"type": "image", "image": {"id": media_id}}]


def test_a_test_whose_media_meta_has_forgotten_says_what_to_do(
    campaign, command, aws, clock, load_event, order
):
    campaign.run(load_event("campaign/media"))
    clock.advance(30 * 86_400)

    command.run(order(campaign="opening-2026-12", numbers=[NUMBER]))

    assert reasons(aws) == [
        f"numbers: {NUMBER}: no media; publish the campaign again to upload them"
    ]
    assert published(aws) == []


def test_a_test_of_people_who_cannot_be_sent_is_parked_with_everything(
    campaign, command, aws, load_event, order
):
    campaign.run(load_event("campaign/inline"))

    command.run(order(recipients=[{"address": "1"}, {"address": "+12025550101"}]))

    assert [one.partition(":")[0] for one in reasons(aws)] == [
        "recipients.0.address",
        "recipients.1.parameters.clinic",
        "recipients.1.parameters.date",
        "recipients.1.parameters.name",
    ]


def test_a_test_waits_for_its_campaign_a_minute(command, aws, order):
    assert failed(command.run(order(), receives=4))
    assert not failed(command.run(order(), receives=5))

    assert reasons(aws) == ["there is no campaign vaccination-2026-12"]


def test_a_report_of_a_test_that_is_not_there_yet_says_so(world):
    assert report(
        {"test": "x"},
        reports=world.reports,
        resends=None,
        messages=None,
        prices=None,
        clock=SetClock(),
    ) == {"problem": "there is no test x"}

"""From the topic to the statuses, through every deployed part."""

import hashlib
import hmac
import json
import time

import pytest
import requests

from local.cloud_api import ledger
from local.system import APP_SECRET, System
from sluice.adapters.postgres.connection import Database
from tests.end_to_end.conftest import FIRST, SECOND, Campaign, people, post_webhook, until


def test_a_campaign_goes_out_and_its_statuses_come_back(system: System) -> None:
    campaign = Campaign(system, "path", people(1_000, 120))
    campaign.publish()
    campaign.await_states({"done": 120})

    def read() -> int:
        return int(system.report("path")["statuses"]["read"])

    until(lambda: read() > 30, seconds=30, what="people read it")
    assert all(len(requests) == 1 for requests in campaign.accepted().values())
    assert len(campaign.accepted()) == 120


def test_messages_delivered_twice_and_in_parallel_send_once(system: System) -> None:
    campaign = Campaign(system, "twice", people(2_000, 150), numbers=[FIRST])
    for _ in range(3):
        campaign.publish()
    until(lambda: campaign.states().get("queued"), seconds=30, what="the campaign is queued")
    chunk = {"kind": "send", "campaign_id": campaign.campaign_id(), "seqs": list(range(1, 101))}
    for _ in range(6):
        system.publish(chunk, kind="send", phone_number_id=FIRST, lane="bulk")

    campaign.await_states({"done": 150})
    time.sleep(2)

    assert len(campaign.accepted()) == 150
    assert all(len(requests) == 1 for requests in campaign.accepted().values())


def test_the_same_id_with_another_content_is_parked_with_its_reason(system: System) -> None:
    Campaign(system, "conflict", people(3_000, 2)).publish()
    until(lambda: system.report("conflict").get("campaign"), seconds=20, what="it is stored")

    Campaign(system, "conflict", people(3_000, 2), max_attempts=2).publish()

    assert "another content" in take_parked(system)


@pytest.mark.parametrize(
    ("message", "attributes", "reason"),
    [
        ({"campaign": "bad"}, {"kind": "campaign"}, "template"),
        ({"nonsense": True}, {"kind": "send", "phone_number_id": FIRST, "lane": "bulk"}, "id"),
    ],
)
def test_what_cannot_be_read_is_parked_with_its_reasons(
    system: System, message: dict[str, object], attributes: dict[str, str], reason: str
) -> None:
    system.publish(message, **attributes)

    assert reason in take_parked(system)


def test_what_no_queue_is_for_is_kept_as_unrouted(system: System) -> None:
    before = system.waiting("unrouted")

    system.publish({"kind": "send"}, kind="send", phone_number_id="999", lane="bulk")

    until(lambda: system.waiting("unrouted") == before + 1, seconds=10, what="it is unrouted")


def test_a_direct_send_leaves_within_seconds_and_once(system: System, database: Database) -> None:
    request = {
        "id": "visit-17",
        "phone_number_id": SECOND,
        "lane": "conversation",
        "recipients": [{"address": "+4915155990001"}],
        "message": {"type": "text", "text": {"body": "The clinic is open today."}},
    }
    attributes = {"kind": "send", "phone_number_id": SECOND, "lane": "conversation"}
    published_at = time.monotonic()
    system.publish(request, **attributes)
    system.publish(request, **attributes)

    def sent() -> list[ledger.Request]:
        return [
            one for one in ledger.requests(system.api.ledger) if one.recipient == "+4915155990001"
        ]

    until(sent, seconds=10, what="it was sent")
    assert sent()[0].arrived - published_at < 5.0
    time.sleep(2)
    assert len(sent()) == 1
    # Without a campaign of its own it stands in its number's direct campaign, and is done.
    until(
        lambda: (
            database.fetch(
                "SELECT delivery.state::text FROM delivery JOIN campaign USING (campaign_id)"
                " WHERE campaign = %s",
                (f"direct:{SECOND}:conversation",),
            )
            == [("done",)]
        ),
        seconds=10,
        what="it is done",
    )


def test_a_paused_campaign_stops_within_seconds_and_goes_on_when_resumed(system: System) -> None:
    campaign = Campaign(system, "paused", people(5_000, 900), numbers=[SECOND])
    campaign.publish()
    until(lambda: campaign.states().get("done", 0) > 50, seconds=40, what="it is under way")

    order = {"action": "pause", "campaign": "paused", "reason": "wrong date"}
    system.publish(order, kind="command")
    until(lambda: system.report("paused")["state"] == "paused", seconds=10, what="it is paused")
    time.sleep(3)
    stopped_at = campaign.states()["done"]
    time.sleep(3)
    assert campaign.states()["done"] == stopped_at < 900

    system.publish({"action": "resume", "campaign": "paused"}, kind="command")
    campaign.await_states({"done": 900}, seconds=60)
    assert all(len(requests) == 1 for requests in campaign.accepted().values())


def test_a_cancelled_campaign_sends_nothing_more(system: System) -> None:
    campaign = Campaign(system, "cancelled", people(6_000, 900), numbers=[FIRST])
    campaign.publish()
    until(lambda: campaign.states().get("done", 0) > 50, seconds=40, what="it is under way")

    system.publish({"action": "cancel", "campaign": "cancelled"}, kind="command")

    until(
        lambda: set(campaign.states()) == {"done", "cancelled"},
        seconds=75,
        what=f"it ends: {campaign.states()}",
    )
    states = campaign.states()
    assert states["done"] + states["cancelled"] == 900
    assert len(campaign.accepted()) == states["done"]


def test_the_webhook_refuses_what_is_not_signed_and_takes_what_is(system: System) -> None:
    url = system.deployment.webhook_url
    body = json.dumps({"object": "whatsapp_business_account", "entry": []}).encode()
    assert post_webhook(system, body) == 200
    digest = hmac.new(APP_SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert post_webhook(system, body + b" ", signature=f"sha256={digest}") == 401
    assert post_webhook(system, body, signature="sha256=" + "0" * 64) == 401
    assert post_webhook(system, b"hello") == 400
    wrong = {"hub.mode": "subscribe", "hub.verify_token": "no", "hub.challenge": "1"}
    assert requests.get(url, params=wrong, timeout=10).status_code == 403


def test_an_unknown_webhook_is_kept(system: System, database: Database) -> None:
    system.api.tell("inbound", account_id="1", field="flows_of_the_future", value={"event": "NEW"})

    until(
        lambda: database.fetch("SELECT 1 FROM signal WHERE field = %s", ("flows_of_the_future",)),
        seconds=20,
        what="the signal is kept",
    )


def take_parked(system: System) -> str:
    """Wait for a parked message, take it away and return it."""
    queues = system.aws.client("sqs")
    url = system.deployment.queue_urls["parked"]
    (message,) = until(
        lambda: queues.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages"),
        seconds=20,
        what="a message is parked",
    )
    queues.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return str(message["Body"])

"""What others reported of the Cloud API, against our real statements: docs/field-reports.md."""

import json

import pytest

from sluice.domain.outcomes import Accepted, Unknown
from sluice.steps.report.campaign import report
from sluice.steps.status import StatusWriter
from sluice.steps.webhook import receive
from tests.conftest import NOW, SetClock
from tests.integration.http_servers import answer
from tests.integration.roads import Outbox, accepted, keys_sent, send

SECRET = "current-app-secret"
WAMID = "wamid.HBgLMTIwMjU1NTAxMDEVAgARGBI1"


def bring(world, event):
    """Take a signed webhook as it came, and write its statuses."""
    outbox = Outbox()
    told = receive(
        event["body"].encode(),
        signature=event["headers"]["x-hub-signature-256"],
        secrets=lambda _fresh: ([SECRET], "token"),
        outbox=outbox,
    )
    assert told.status_code == 200
    writer = StatusWriter(
        statuses=world.statuses, stops=world.stops, clock=SetClock(), dice=lambda: 0.5
    )
    return writer.write(outbox.statuses)


def test_a_failed_webhook_without_user_id_href_and_our_id_fails_its_message(world, load_event):
    campaign_id, (first, *_) = world.sending(1)
    accepted(world, [first], wamid=WAMID)

    written = bring(world, load_event("webhook/failed"))

    row = world.row(campaign_id)
    assert written.reached == 1
    assert (row["state"], row["status"], row["error_code"]) == ("done", "failed", 131026)


def test_what_was_delivered_and_failed_keeps_both_times(world, load_event):
    campaign_id, (first, *_) = world.sending(1)
    accepted(world, [first], wamid=WAMID)
    writer = StatusWriter(
        statuses=world.statuses, stops=world.stops, clock=SetClock(), dice=lambda: 0.5
    )

    event = load_event("status/delivered_after_failed")
    for record in event["Records"]:
        told = json.loads(record["body"])["statuses"]
        writer.write([{**one, "opaque": f"{campaign_id}:1:1"} for one in told])

    row = world.row(campaign_id)
    assert (row["status"], row["error_code"]) == ("delivered", 131026)
    assert row["delivered_at"] > row["failed_at"]


def test_an_accepted_message_is_not_reported_as_delivered(world):
    _campaign_id, claimed = world.sending(3)
    accepted(world, claimed)

    statuses = report("reminder", reports=world.reports, now=NOW)["statuses"]

    assert {name: count for name, count in statuses.items() if count} == {"accepted": 3}


@pytest.mark.parametrize(
    "reply", [None, answer()[:-9], answer(b"<html>Bad Gateway</html>", 502)], ids=repr
)
def test_after_a_lost_answer_the_same_message_is_not_sent_again_and_the_others_are(
    world, serve, reply
):
    closing = reply and reply.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
    server = serve(lambda request, _: closing if b"+4915155000002" in request else answer())
    campaign_id = world.campaign(5)

    for _ in range(2):
        send(world, server.url, campaign_id, rows=5)

    assert world.states(campaign_id) == {"done": 4, "unknown": 1}
    assert sorted(keys_sent(server)) == [f"{campaign_id}:{seq}" for seq in range(1, 6)]


def test_an_unknown_message_stays_unknown_until_a_status_tells(world):
    campaign_id, (first, *_) = world.sending(1)
    accepted(world, [first], outcome=Unknown("read timeout"))
    assert world.row(campaign_id)["state"] == "unknown"

    accepted(world, [first], outcome=Accepted(WAMID))

    row = world.row(campaign_id)
    assert (row["state"], row["status"], row["accepted_at"]) == ("done", "accepted", NOW)

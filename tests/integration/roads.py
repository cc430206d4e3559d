"""The two roads of an error, without AWS: an answer over HTTP, and a signed webhook."""

import hashlib
import hmac
import json
import time
from datetime import timedelta

from sluice.domain.claim import Key
from sluice.domain.lanes import SlotPace
from sluice.domain.outcomes import Accepted
from sluice.domain.pairs import Pairs
from sluice.domain.results import result_of
from sluice.steps.send import Sender
from sluice.steps.status import StatusWriter
from sluice.steps.webhook import receive
from tests.conftest import NOW, NUMBER, SetClock
from tests.integration.cloud_api_client import client

SECRET = "app-secret"


class RunningClock:
    """Real time, as if it were the tests' day."""

    def __init__(self):
        self.began = time.monotonic()

    def now(self):
        return NOW + timedelta(seconds=time.monotonic() - self.began)

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


def send(world, url, campaign_id=None, *, rows=1, clock=None, seconds=60.0, keys=None, token=None):
    """What a sender makes of chunks of a campaign, or of these rows."""
    clock = clock or RunningClock()
    chunks = [keys] if keys else []
    if campaign_id is not None:
        picked = world.queue(campaign_id, rows, now=clock.now())
        chunks = [[Key(campaign_id, seq) for seq in chunk.seqs] for chunk in picked]
    sender = Sender(
        phone_number_id=NUMBER,
        pace=SlotPace("bulk", 2, 200.0, 200.0),
        entered_at=clock.monotonic(),
        deadline=clock.monotonic() + seconds,
        claims=world.claims,
        stops=world.stops,
        cloud_api=client(url, **({"token": token} if token else {})),
        pairs=Pairs(),
        clock=clock,
        dice=lambda: 0.5,
    )
    return sender.send(chunks)


def keys_sent(server):
    """Our ids in the requests that a server got, without the attempt."""
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.requests]
    return [body["biz_opaque_callback_data"].rpartition(":")[0] for body in bodies]


def tell(world, campaign_id, *errors, clock=None):
    """Post a signed webhook with a failed status for each error, and write what comes of it."""
    statuses = [
        {
            "id": f"wamid.{seq}",
            "status": "failed",
            "timestamp": str(int(NOW.timestamp())),
            "recipient_id": "4915155000001",
            "biz_opaque_callback_data": f"{campaign_id}:{seq}:1",
            "errors": [error],
        }
        for seq, error in enumerate(errors, start=1)
    ]
    metadata = {"display_phone_number": "15550783881", "phone_number_id": NUMBER}
    value = {"messaging_product": "whatsapp", "metadata": metadata, "statuses": statuses}
    body = json.dumps({
        "object": "whatsapp_business_account",
        "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}],
    }).encode()  # fmt: skip
    outbox = Outbox()
    told = receive(
        body,
        signature="sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest(),
        secrets=lambda _fresh: ([SECRET], "token"),
        outbox=outbox,
    )
    assert (told.status_code, told.statuses) == (200, len(errors))
    writer = StatusWriter(
        statuses=world.statuses,
        stops=world.stops,
        clock=clock or SetClock(),
        dice=lambda: 0.5,
    )
    return writer.write(outbox.statuses)


class Outbox:
    """Keeps what the webhook step queues."""

    status_groups = 64

    def __init__(self):
        self.statuses = []

    def put_statuses(self, messages):
        self.statuses += [one for _, body in messages for one in json.loads(body)["statuses"]]

    def put_signals(self, messages):
        assert not messages


def accepted(world, claimed, *, wamid=None, held=False, outcome=None):
    """Record that the Cloud API took them, or another outcome."""
    results = [
        result_of(
            one,
            outcome or Accepted(wamid or f"wamid.{one.key.seq}", held=held),
            world.claims.policy(one.key.campaign_id),
            now=NOW,
            dice=0.5,
        )
        for one in claimed
    ]
    world.claims.record(results, now=NOW, patience_seconds=1)

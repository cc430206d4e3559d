"""Secrets that are replaced while everything runs: the token of a campaign, the app's secret."""

import base64
import hashlib
import hmac
import json
import threading
import time

import pytest

from functions.webhook.handler import handle
from local.cloud_api import ledger
from sluice.adapters.parameters import Secrets
from sluice.adapters.queues import WebhookOutbox
from sluice.domain.clock import FOREVER
from tests.conftest import NOW, NUMBER
from tests.integration.functions.ports import Telemetry
from tests.integration.roads import RunningClock, send


@pytest.fixture
def put(aws):
    """``put("token", …)`` replaces a secret, as an operator does."""
    manager, known = aws.client("secretsmanager"), set()

    def write(name, **value):
        text = json.dumps(value)
        if name in known:
            manager.put_secret_value(SecretId=name, SecretString=text)
        else:
            manager.create_secret(Name=name, SecretString=text)
        known.add(name)

    return write


@pytest.fixture
def meta(graph):
    """Takes these tokens and no others, at a thousand a second."""

    def take(*tokens):
        number = {"messages_per_second": 1_000}
        graph.tell("config", access_tokens=tokens, numbers={NUMBER: number})

    take("old")
    return take


def secrets_of(aws):
    return Secrets(aws.client("secretsmanager"))


def token_of(secrets):
    return lambda *, fresh: secrets.access_token("token", fresh=fresh)


def pause(world):
    return world.database.fetch(
        "SELECT paused_until, pause_reason FROM number WHERE phone_number_id = %s", (NUMBER,)
    )[0]


def test_a_token_that_is_replaced_in_the_middle_of_a_campaign_costs_nobody_anything(
    aws, world, graph, put, meta
):
    put("token", access_token="old")
    campaign_id, before = world.campaign(300), len(ledger.requests(graph.ledger))

    def rotate():
        while len(ledger.requests(graph.ledger)) < before + 60:
            time.sleep(0.01)
        put("token", access_token="new")
        meta("new")

    rotation = threading.Thread(target=rotate)
    rotation.start()
    token, clock, url = token_of(secrets_of(aws)), RunningClock(), f"{graph.url}/v25.0"
    sent = send(world, url, campaign_id, rows=300, token=token, clock=clock)
    rotation.join()
    while world.states(campaign_id) != {"done": 300} and clock.monotonic() < clock.began + 60:
        send(world, url, campaign_id, rows=300, token=token, clock=clock)

    requests = ledger.requests(graph.ledger)[before:]
    assert sent.codes[190] >= 1, "the old one was really refused"
    assert world.states(campaign_id) == {"done": 300}
    accepted = [one.opaque_id for one in requests if one.verdict in ledger.ACCEPTED]
    assert len(accepted) == len(set(accepted)) == 300
    assert {one.rpartition(":")[2] for one in accepted} == {"1"}, "nobody's attempt was burned"
    until, _ = pause(world)
    assert until is None or until < FOREVER, "nobody has to resume anything"


def test_a_wrong_token_pauses_every_number_with_its_reason_until_a_person_resumes(
    aws, world, graph, put, meta, monkeypatch
):
    monkeypatch.setattr("sluice.adapters.parameters.FRESH_SECONDS", 0.0)
    put("token", access_token="old")
    campaign_id, before = world.campaign(20), len(ledger.requests(graph.ledger))
    token, clock, url = token_of(secrets_of(aws)), RunningClock(), f"{graph.url}/v25.0"
    meta("new")
    put("token", access_token="mistyped")

    send(world, url, campaign_id, rows=20, token=token, clock=clock)

    until, reason = pause(world)
    assert until == FOREVER
    assert reason.startswith("190")
    paused = world.database.fetch("SELECT count(*) FROM number WHERE paused_until = %s", (until,))
    assert paused == [(2,)], "the token is of the whole app"
    assert world.states(campaign_id) == {"pending": 20}

    put("token", access_token="new")
    world.orders.resume_number(NUMBER)
    while world.states(campaign_id) != {"done": 20} and clock.monotonic() < clock.began + 60:
        send(world, url, campaign_id, rows=20, token=token, clock=clock)

    requests = ledger.requests(graph.ledger)[before:]
    accepted = [one.opaque_id for one in requests if one.verdict in ledger.ACCEPTED]
    assert world.states(campaign_id) == {"done": 20}
    assert len(accepted) == len(set(accepted)) == 20


def signed(seq, secret):
    status = {
        "id": f"wamid.{seq}",
        "status": "delivered",
        "timestamp": str(int(NOW.timestamp())),
        "recipient_id": "4915155000001",
        "biz_opaque_callback_data": f"1:{seq}:1",
    }
    metadata = {"display_phone_number": "15550783881", "phone_number_id": NUMBER}
    value = {"messaging_product": "whatsapp", "metadata": metadata, "statuses": [status]}
    changes = [{"field": "messages", "value": value}]
    entry = [{"id": "1", "changes": changes}]
    body = json.dumps({"object": "whatsapp_business_account", "entry": entry}).encode()
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "requestContext": {"http": {"method": "POST"}},
        "headers": {"X-Hub-Signature-256": f"sha256={digest}"},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


def test_webhooks_flow_while_the_app_secret_is_rotated_and_none_is_lost_or_doubled(
    aws, put, monkeypatch
):
    """Meta changes first, then we: what is refused in between comes again."""
    monkeypatch.setattr("sluice.adapters.parameters.FRESH_SECONDS", 0.0)
    put("webhook", app_secrets=["old"], verify_token="token")
    known = secrets_of(aws)
    outbox = WebhookOutbox(statuses=aws.queue("statuses.fifo"), signals=aws.queue("signals"))

    def post(seq, secret):
        return handle(
            signed(seq, secret),
            secrets=lambda fresh: known.webhook("webhook", fresh=fresh),
            outbox=outbox,
            telemetry=Telemetry(),
        )["statusCode"]

    assert {post(seq, "old") for seq in range(10)} == {200}
    refused = [seq for seq in range(10, 15) if post(seq, "new") == 401]
    assert refused == list(range(10, 15)), "we do not know it yet"
    put("webhook", app_secrets=["new", "old"], verify_token="token")
    assert {post(seq, "new") for seq in [*refused, 15, 16]} == {200}
    assert {post(seq, "old") for seq in range(17, 20)} == {200}, "Meta had them under way"
    put("webhook", app_secrets=["new"], verify_token="token")
    known = secrets_of(aws)  # minutes later, or in another environment
    assert post(20, "new") == 200
    assert post(21, "old") == 401

    queued = [
        one["opaque_id"] if "opaque_id" in one else json.dumps(one)
        for body in aws.bodies("statuses.fifo")
        for one in json.loads(body)["statuses"]
    ]
    assert len(queued) == len(set(queued)) == 21

"""webhook.handle with real queues."""

import base64
import hashlib
import hmac
import json
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from functions.webhook.handler import handle
from sluice.adapters.queues import WebhookOutbox
from sluice.domain.limits import (
    STATUS_GROUPS,
    WEBHOOK_BODY_BYTES_MAX,
)
from tests.integration.functions.ports import Telemetry, samples

SECRETS = ["current-app-secret", "previous-app-secret"]
VERIFY_TOKEN = "verify-me"
REFUSED = {
    "bad_signature": 401,
    "challenge_wrong_token": 403,
    "malformed_signature": 401,
    "not_an_object": 400,
    "not_json": 400,
    "statuses_unsigned": 401,
}
"""The others are answered by 200."""


@pytest.fixture
def webhook(aws):
    telemetry = Telemetry()
    outbox = WebhookOutbox(statuses=aws.queue("statuses.fifo"), signals=aws.queue("signals"))

    def run(event, *, secrets=lambda _fresh: (SECRETS, VERIFY_TOKEN)):
        return handle(event, secrets=secrets, outbox=outbox, telemetry=telemetry)

    return SimpleNamespace(run=run, telemetry=telemetry)


def post(body, secret=SECRETS[0], *, encoded=False, header="X-Hub-Signature-256"):
    """A webhook as API Gateway hands it over."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    digest = hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
    return {
        "requestContext": {"http": {"method": "POST"}},
        "headers": {header: f"sha256={digest}"},
        "isBase64Encoded": encoded,
        "body": base64.b64encode(raw).decode() if encoded else raw.decode(),
    }


def statuses(*opaque_ids):
    told = [
        {"id": f"wamid.{own}", "status": "sent", "timestamp": "1796126400"}
        | {"biz_opaque_callback_data": own}
        for own in opaque_ids
    ]
    change = {"field": "messages", "value": {"messaging_product": "whatsapp", "statuses": told}}
    return {"entry": [{"id": "1", "changes": [change]}]}


@pytest.mark.parametrize("sample", samples("webhook"))
def test_a_sample_is_answered_as_meta_expects(webhook, load_event, sample):
    answer = webhook.run(load_event(f"webhook/{sample}"))

    assert answer["statusCode"] == REFUSED.get(sample, 200)


@pytest.mark.parametrize("sample", sorted(REFUSED))
def test_nothing_is_queued_that_is_not_answered_by_200(webhook, aws, load_event, sample):
    webhook.run(load_event(f"webhook/{sample}"))

    assert aws.bodies("statuses.fifo") + aws.bodies("signals") == []
    assert webhook.telemetry.counts() == {"WebhooksRefused": 1}


def test_a_challenge_is_answered_by_itself(webhook, load_event):
    answer = webhook.run(load_event("webhook/challenge"))

    assert answer["body"] == "1158201444"
    assert answer["headers"]["content-type"].startswith("text/plain")


def test_a_get_without_a_query_is_not_meta(webhook):
    event = {"requestContext": {"http": {"method": "GET"}}, "queryStringParameters": None}

    assert webhook.run(event)["statusCode"] == 403


def test_a_thousand_statuses_in_one_webhook_are_all_queued(webhook, aws):
    opaque_ids = [f"1:{place}:1" for place in range(1, 1_001)]

    answer = webhook.run(post(statuses(*opaque_ids)))

    told = [one for body in aws.bodies("statuses.fifo") for one in json.loads(body)["statuses"]]
    assert answer["statusCode"] == 200
    assert sorted(one["opaque"] for one in told) == sorted(opaque_ids)


def test_statuses_arrive_in_the_fifo_queue_in_groups(webhook, aws, load_event):
    webhook.run(load_event("webhook/many_statuses"))

    letters = aws.letters("statuses.fifo")
    told = [one for letter in letters for one in json.loads(letter.body)["statuses"]]
    groups = {one["opaque"]: set() for one in told}
    for letter in letters:
        for one in json.loads(letter.body)["statuses"]:
            groups[one["opaque"]].add(letter.group)
    assert len(told) == webhook.telemetry.counts()["StatusesReceived"]
    assert {len(group) for group in groups.values()} == {1}
    assert len({letter.group for letter in letters}) > 1
    assert all(0 <= int(letter.group) < STATUS_GROUPS for letter in letters)


def test_a_webhook_that_comes_twice_is_queued_once(webhook, aws, load_event):
    for _ in range(2):
        webhook.run(load_event("webhook/statuses"))

    bodies = aws.bodies("statuses.fifo")
    assert len(bodies) == len(set(bodies)) == 2


def test_everything_but_statuses_arrives_in_the_queue_of_signals(webhook, aws, load_event):
    webhook.run(load_event("webhook/statuses_and_messages"))

    assert len(aws.bodies("statuses.fifo")) == 1
    (body,) = aws.bodies("signals")
    assert "messages" in json.loads(body)["signals"][0]["value"]


def test_a_body_in_base64_is_verified_as_its_bytes(webhook, aws):
    body = json.dumps(statuses("1:1:1"), ensure_ascii=False).replace("whatsapp", "Zoë 🎉").encode()

    assert webhook.run(post(body, encoded=True))["statusCode"] == 200
    assert len(aws.bodies("statuses.fifo")) == 1


def test_base64_that_is_none_is_not_signed(webhook):
    event = post(b"{}", encoded=True) | {"body": "no base64!"}

    assert webhook.run(event)["statusCode"] == 401


@pytest.mark.parametrize("secret", SECRETS)
def test_both_app_secrets_are_valid_while_one_is_rotated(webhook, secret):
    assert webhook.run(post(statuses("1:1:1"), secret))["statusCode"] == 200


def test_a_header_is_found_however_it_is_written(webhook):
    for header in ("x-hub-signature-256", "X-HUB-SIGNATURE-256"):
        assert webhook.run(post(statuses("1:1:1"), header=header))["statusCode"] == 200


def test_a_secret_that_was_just_rotated_is_read_again(webhook):
    asked = []

    def secrets(fresh):
        asked.append(fresh)
        return (["new" if fresh else "old"], VERIFY_TOKEN)

    assert webhook.run(post(statuses("1:1:1"), "new"), secrets=secrets)["statusCode"] == 200
    assert asked == [False, True]


def test_an_oversized_body_is_refused_before_anything_else(webhook, aws):
    answer = webhook.run(post(b'"' + b"x" * WEBHOOK_BODY_BYTES_MAX + b'"'))

    assert answer["statusCode"] == 400
    assert aws.bodies("signals") == []


def test_the_largest_body_of_meta_is_taken_whole(webhook, aws):
    ids = [f"1:{seq}:1" for seq in range(1, 18_000)]
    body = json.dumps(statuses(*ids)).encode()
    assert WEBHOOK_BODY_BYTES_MAX * 0.5 < len(body) < WEBHOOK_BODY_BYTES_MAX

    assert webhook.run(post(body))["statusCode"] == 200

    told = [
        one["opaque"]
        for taken in aws.bodies("statuses.fifo")
        for one in json.loads(taken)["statuses"]
    ]
    assert sorted(told) == sorted(ids)


@pytest.mark.parametrize("name", ["statuses.fifo", "signals"])
def test_a_queue_that_refuses_makes_meta_bring_it_again(webhook, aws, load_event, name):
    aws.sqs.delete_queue(QueueUrl=aws.url(name))

    with pytest.raises(ClientError):
        webhook.run(load_event("webhook/statuses_and_messages"))


def test_no_answer_and_no_report_tells_a_phone_number(webhook, load_event):
    for sample in samples("webhook"):
        answer = webhook.run(load_event(f"webhook/{sample}"))
        assert "12025550101" not in json.dumps(answer)

    assert "12025550101" not in repr(webhook.telemetry.reports)


def test_a_standard_queue_takes_the_statuses_of_a_webhook_in_one_message(aws):
    outbox = WebhookOutbox(statuses=aws.queue("statuses"), signals=aws.queue("signals"))
    event = post(statuses("1:1:1", "1:2:1", "1:3:1"))

    answers = [
        handle(
            event,
            secrets=lambda _fresh: (SECRETS, VERIFY_TOKEN),
            outbox=outbox,
            telemetry=Telemetry(),
        )["statusCode"]
        for _ in range(2)
    ]

    assert answers == [200, 200]
    bodies = [
        letter.body for letter in aws.queue("statuses").receive(limit=10, visibility_seconds=5)
    ]
    told = [[one["opaque"] for one in json.loads(body)["statuses"]] for body in bodies]
    assert told == [["1:1:1", "1:2:1", "1:3:1"]] * 2, "and Meta's repetition is taken again"

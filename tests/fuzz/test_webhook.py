"""The real webhook handler: whatever is posted has an answer, and what Meta signed is kept."""

import base64
import hashlib
import hmac
import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from functions.webhook.handler import handle
from sluice.adapters.events import objects_in
from sluice.adapters.queues import Queue, WebhookOutbox
from sluice.domain.delivery import update_of
from sluice.domain.documents import json_object
from sluice.domain.inbound import attributes_of, digest_of, heard_in, inbound_of, one_by_one
from sluice.domain.limits import SQS_MESSAGE_BYTES_MAX
from sluice.domain.signals import actions_of
from sluice.domain.webhook import parse, to_json
from tests.conftest import NOW
from tests.fuzz.shapes import ANY_TEXT, JSON, NASTY, bodies, changed
from tests.integration.functions.ports import Telemetry

SECRET, TOKEN = "current-app-secret", "verify-me"
WEBHOOKS = [one for one in bodies("webhook") if isinstance(one, dict)]
STATUS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 5).map("wamid.{}".format),
        "status": st.sampled_from(["sent", "delivered", "read", "failed", "played"]),
        "timestamp": st.sampled_from(["1796126400", 1796126400, "1796126400000"]),
    },
    optional={"biz_opaque_callback_data": st.just("1:2:3") | JSON, "errors": JSON, "pricing": JSON},
)
METHOD = st.sampled_from(["GET", "POST", "HEAD", "", "PUT"])


class Sqs:
    """Takes what SQS takes, and keeps it."""

    def __init__(self):
        self.taken = []

    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803 - boto3's names
        sizes = [len(entry["MessageBody"]) for entry in Entries]
        assert 1 <= len(Entries) <= 10
        assert all(entry["MessageBody"].isascii() for entry in Entries)
        assert sum(sizes) <= SQS_MESSAGE_BYTES_MAX
        assert 0 not in sizes
        self.taken += [entry["MessageBody"] for entry in Entries]
        return {"Failed": []}


def receive(event):
    """The handler's answer, and what arrived in the queues of statuses and of signals."""
    statuses, signals = Sqs(), Sqs()
    outbox = WebhookOutbox(statuses=Queue(statuses, url="s"), signals=Queue(signals, url="g"))
    answer = handle(
        event, secrets=lambda _: ([SECRET], TOKEN), outbox=outbox, telemetry=Telemetry()
    )
    return (
        answer["statusCode"],
        [one for body in statuses.taken for one in objects_in(body, "statuses")],
        [one for body in signals.taken for one in objects_in(body, "signals")],
    )


def posted(body, *, header=None):
    """A webhook in base64, as API Gateway brings what is not text; signed, or with any header."""
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    signature = f"sha256={digest}" if header is None else header
    return {
        "requestContext": {"http": {"method": "POST"}},
        "headers": {"X-Hub-Signature-256": signature},
        "isBase64Encoded": True,
        "body": base64.b64encode(body).decode(),
    }


@given(st.binary(max_size=2_000))
def test_bytes_that_are_signed_are_answered(body):
    code, statuses, signals = receive(posted(body))

    assert code == (200 if json_object(body) is not None else 400)
    assert code == 200 or not (statuses or signals)


@given(JSON | changed(WEBHOOKS))
def test_json_that_is_signed_is_answered_and_everything_in_it_is_taken(document):
    body = json.dumps(document).encode()

    code, statuses, signals = receive(posted(body))

    taken = parse(body)
    assert code == (200 if taken is not None else 400)
    assert Counter(map(to_json, statuses)) == Counter(map(to_json, taken.statuses if taken else []))
    assert len(signals) >= len(taken.signals if taken else [])
    # Whoever takes it out of the queues must bear it too.
    for status in statuses:
        update_of(status)
    for signal in signals:
        for part in one_by_one(signal):
            actions_of(part, now=NOW)
            heard_in(part, now=NOW)
            inbound = inbound_of(part)
            assert len(digest_of(part)) == 64
            assert inbound is None or attributes_of(inbound, None)["type"]


@given(st.lists(st.lists(STATUS, max_size=6), max_size=4), st.lists(JSON, max_size=3))
def test_every_status_arrives_as_often_as_it_came(changes, strange):
    told = [{"field": "messages", "value": {"statuses": [*one, *strange]}} for one in changes]
    body = json.dumps({"entry": [{"id": "1", "changes": told}]}).encode()

    code, statuses, signals = receive(posted(body))

    if json_object(body) is None:
        assert code == 400
        return
    expected = Counter((one["id"], one["status"]) for change in changes for one in change)
    assert expected == Counter((one["id"], one["status"]) for one in statuses)
    kept = Counter(json.dumps(one["value"]["statuses"][0]) for one in signals)
    odd = Counter(json.dumps(one) for one in strange for _ in changes)
    assert kept == odd


@given(st.binary(max_size=200), ANY_TEXT | NASTY | st.sampled_from(["sha256=" + "0" * 64, "sha1="]))
def test_what_is_not_signed_is_refused(body, header):
    assert receive(posted(body, header=header)) == (401, [], [])


@given(
    METHOD,
    st.none() | ANY_TEXT | NASTY,
    st.none() | st.dictionaries(st.sampled_from(["x-hub-signature-256", "a"]), ANY_TEXT),
    st.none() | st.dictionaries(st.sampled_from(["hub.mode", "hub.verify_token"]), ANY_TEXT),
    st.booleans(),
)
def test_whatever_api_gateway_brings_is_answered(method, body, headers, query, encoded):
    event = {
        "requestContext": {"http": {"method": method}},
        "headers": headers,
        "queryStringParameters": query,
        "body": body,
        "isBase64Encoded": encoded,
    }

    assert receive(event) in {401: (401, [], []), 403: (403, [], [])}.values()

"""Webhook: who is believed, and what is queued before the answer."""

import hashlib
import hmac
import json

import pytest

from sluice.domain.limits import SQS_MESSAGE_BYTES_MAX, WEBHOOK_BODY_BYTES_MAX
from sluice.steps.webhook import challenge, receive

SECRET = "app secret"
QUERY = {"hub.mode": "subscribe", "hub.verify_token": "token", "hub.challenge": "42"}


class Outbox:
    status_groups = 64

    def __init__(self):
        self.statuses, self.signals = [], []

    def put_statuses(self, messages):
        self.statuses += messages

    def put_signals(self, messages):
        self.signals += messages


class Full(Outbox):
    def put_statuses(self, messages):
        raise RuntimeError("the queue did not take everything")


def rotating(old, new):
    """Secrets that are the old ones until they are read afresh, and how they were asked."""
    asked = []

    def secrets(fresh):
        asked.append(fresh)
        return new if fresh else old

    return secrets, asked


def signed(body, secret=SECRET):
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def post(body, outbox=None, *, secrets=lambda _: ([SECRET], "token"), signature=None):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return receive(
        content,
        signature=signature or signed(content),
        secrets=secrets,
        outbox=outbox or Outbox(),
    )


def test_a_challenge_is_answered_at_once_where_the_token_is_known():
    secrets, asked = rotating(([], "token"), ([], "token"))

    answer = challenge(QUERY, secrets=secrets)

    assert (answer.status_code, answer.body, asked) == (200, "42", [False])


def test_a_challenge_with_a_token_that_was_just_rotated_is_answered():
    secrets, asked = rotating(([], "old"), ([], "token"))

    assert challenge(QUERY, secrets=secrets).status_code == 200
    assert asked == [False, True]


@pytest.mark.parametrize("change", ["hub.mode", "hub.verify_token", "hub.challenge"])
def test_a_challenge_that_lacks_something_is_refused(change):
    query = {name: value for name, value in QUERY.items() if name != change}

    answer = challenge(query, secrets=lambda _: ([], "token"))

    assert answer.status_code == 403
    assert "42" not in answer.body


def test_an_empty_verify_token_is_nobody_s():
    query = QUERY | {"hub.verify_token": ""}

    assert challenge(query, secrets=lambda _: ([], "")).status_code == 403


def test_a_secret_is_not_read_afresh_for_a_valid_signature():
    secrets, asked = rotating(([SECRET], ""), ([SECRET], ""))

    assert post({}, secrets=secrets).status_code == 200
    assert asked == [False]


def test_without_any_app_secret_nothing_is_believed():
    content = b"{}"
    signature = signed(content, "")

    assert post(content, secrets=lambda _: ([], "x"), signature=signature).status_code == 401
    assert post(content, secrets=lambda _: ([""], "x"), signature=signature).status_code == 401


@pytest.mark.parametrize(
    ("extra", "status_code"), [(0, 400), (1, 400)], ids=["not_json", "too_large"]
)
def test_the_largest_body_is_looked_into_and_a_larger_one_is_not(extra, status_code):
    secrets, asked = rotating(([SECRET], ""), ([SECRET], ""))

    answer = post(b"x" * (WEBHOOK_BODY_BYTES_MAX + extra), secrets=secrets)

    assert answer.status_code == status_code
    assert asked == ([] if extra else [False])


def test_what_a_queue_did_not_take_is_not_answered():
    with pytest.raises(RuntimeError):
        post({"entry": []}, Full())


def test_every_message_fits_into_its_queue():
    outbox = Outbox()
    statuses = [
        {"id": f"wamid.{n}", "status": "sent", "timestamp": "1796126400"}
        | {"biz_opaque_callback_data": "1:1:1"}
        for n in range(4_000)
    ]
    value = {"statuses": statuses, "messages": [{"text": {"body": "🎉" * 40_000}}] * 4}

    answer = post({"entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]},
                  outbox)  # fmt: skip

    assert (answer.status_code, answer.statuses) == (200, 4_000)
    assert sum(len(json.loads(body)["statuses"]) for _, body in outbox.statuses) == 4_000
    bodies = [body for _, body in outbox.statuses] + outbox.signals
    assert max(map(len, bodies)) <= SQS_MESSAGE_BYTES_MAX

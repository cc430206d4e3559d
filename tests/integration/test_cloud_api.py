"""The simulated Cloud API as a process: real HTTP, real signals, a real client library."""

import asyncio
import hashlib
import hmac
import http.server
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import aiohttp
import httpx
import pytest
import pywa
from pywa.types import MessageStatus
from pywa.types.message_status import MessageStatusType
from pywa.types.templates import BodyText, TemplateLanguage

from local.cloud_api import ledger
from local.cloud_api.config import Config

REPOSITORY = Path(__file__).parents[2]
NUMBER = "106540352242922"
(TOKEN,) = Config().access_tokens
(SECRET,) = Config().app_secrets
QUICK = {
    "latency_milliseconds_median": 5,
    "sent_seconds_median": 0.02,
    "delivered_seconds_median": 0.02,
    "read_seconds_median": 0.02,
    "flush_interval_seconds": 0.05,
    "delivered_share": 1.0,
    "read_share": 1.0,
    "webhook_retry_seconds_base": 0.05,
    "webhooks_in_flight_max": 1,
}


class Receiver:
    """A webhook that keeps what it gets; `answers` are given first, then 200."""

    def __init__(self):
        self.posts, self.answers = [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                challenge = self.path.partition("hub.challenge=")[2].partition("&")[0]
                good = "hub.verify_token=opensesame" in self.path
                self.reply(200 if good else 403, challenge.encode())

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.posts.append((body, self.headers["X-Hub-Signature-256"]))
                self.reply(receiver.answers.pop(0) if receiver.answers else 200, b"")

            def reply(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/webhook"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def statuses(self):
        values = [
            change["value"]
            for body, _ in list(self.posts)
            for entry in json.loads(body)["entry"]
            for change in entry["changes"]
        ]
        return [status for value in values for status in value.get("statuses", [])]

    def messages(self):
        changes = [
            change
            for body, _ in list(self.posts)
            for entry in json.loads(body)["entry"]
            for change in entry["changes"]
        ]
        return [one for change in changes for one in change["value"].get("messages", [])]


@pytest.fixture
def webhook():
    receiver = Receiver()
    yield receiver
    receiver.close()


class Process:
    """`python -m local.cloud_api` on a free port."""

    def __init__(self, folder, config):
        path = folder / "config.json"
        path.write_text(json.dumps(QUICK | config))
        self.ledger = folder / "ledger.sqlite"
        command = [sys.executable, "-m", "local.cloud_api", "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--config", str(path), "--ledger", str(self.ledger)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().split()[1]

    def send(self, recipient="+4915100000000", opaque_id="c:1:1", **body):
        message = {"messaging_product": "whatsapp", "to": recipient, "type": "template"}
        message["template"] = {"name": "hello", "language": {"code": "en"}}
        return httpx.post(
            f"{self.url}/v25.0/{NUMBER}/messages",
            headers={"Authorization": f"Bearer {TOKEN}"},
            json=message | {"biz_opaque_callback_data": opaque_id} | body,
        )

    def ask(self, path, body=None):
        method = "GET" if body is None else "POST"
        return httpx.request(method, f"{self.url}/_sim/{path}", json=body)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(timeout=10)
        self.process.stdout.close()
        return code


@pytest.fixture
def start(tmp_path):
    started = []

    def start_process(**config):
        started.append(Process(tmp_path, config))
        return started[-1]

    yield start_process
    for one in started:
        if one.process.poll() is None:
            one.stop()


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


async def burst(url, count):
    """Send `count` requests to as many people at once; the HTTP status of each."""
    body = {"messaging_product": "whatsapp", "text": {"body": "hi"}}

    async def send(session, person):
        message = body | {"to": f"+4915100{person:06d}"}
        async with session.post(f"{url}/v25.0/{NUMBER}/messages", json=message) as response:
            return response.status, await response.json()

    headers = {"Authorization": f"Bearer {TOKEN}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        return await asyncio.gather(*(send(session, person) for person in range(count)))


def test_the_81st_request_in_a_second_is_answered_130429(start):
    api = start()
    answers = asyncio.run(burst(api.url, 81))
    refused = [body["error"]["code"] for status, body in answers if status == 429]
    assert refused == [130429]
    use = ledger.windows_over(api.ledger, 80)[NUMBER]
    assert (use.offered_max, use.accepted_max, use.accepted_windows_over) == (81, 80, 0)


def test_a_webhook_is_signed_over_its_raw_bytes_with_an_emoji_in_a_name(start, webhook):
    api = start(webhook_url=webhook.url)
    asyncio.run(burst(api.url, 20))
    wait_until(lambda: len(webhook.statuses()) == 60)
    assert any(rb"\ud83c\udf89" in body for body, _ in webhook.posts)
    for body, signature in webhook.posts:
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert signature == f"sha256={digest}"
        assert json.dumps(json.loads(body)).encode() != body


def test_statuses_come_twice_and_out_of_order(start, webhook):
    api = start(webhook_url=webhook.url, disorder_share=1.0, duplicate_share=1.0)
    api.send()
    wait_until(lambda: len(webhook.statuses()) == 4)
    told = [status["status"] for status in webhook.statuses()]
    assert told == ["sent", "read", "delivered", "delivered"]
    assert {status["biz_opaque_callback_data"] for status in webhook.statuses()} == {"c:1:1"}


def test_a_status_may_come_before_the_answer(start, webhook):
    api = start(webhook_url=webhook.url, early_share=1.0, read_share=0.0, delivered_share=0.0)
    wamid = api.send().json()["messages"][0]["id"]
    assert [status["id"] for status in webhook.statuses()] == [wamid]


def test_a_lost_answer_was_accepted(start, webhook):
    api = start(webhook_url=webhook.url, lost_answer_share=1.0)
    with pytest.raises(httpx.RemoteProtocolError):
        api.send(opaque_id="c:7:1")
    ((request,),) = ledger.accepted_by_opaque_id(api.ledger).values()
    assert (request.opaque_id, request.verdict) == ("c:7:1", "lost_answer")
    wait_until(lambda: [one["id"] for one in webhook.statuses()] == [request.wamid] * 3)


def test_a_refused_webhook_is_posted_again_with_the_same_bytes(start, webhook):
    webhook.answers += [500, 201]
    api = start(webhook_url=webhook.url, read_share=0.0, delivered_share=0.0)
    api.send()
    wait_until(lambda: len(webhook.posts) == 3)
    assert len(set(webhook.posts)) == 1
    wait_until(lambda: api.ask("pending").json() == {"pending": 0})
    wait_until(lambda: ledger.summary(api.ledger)["statuses"] == {"sent": 1})


def test_statuses_wait_until_there_is_a_webhook(start, webhook):
    api = start()
    api.send()
    assert api.ask("pending").json() == {"pending": 3}
    assert api.ask("webhook", {"url": webhook.url, "verify_token": "opensesame"}).is_success
    wait_until(lambda: len(webhook.statuses()) == 3)


def test_a_webhook_that_fails_the_handshake_is_not_taken(start, webhook):
    api = start()
    answer = api.ask("webhook", {"url": webhook.url, "verify_token": "wrong"})
    assert answer.status_code == 400
    assert api.ask("config").json()["webhook_url"] == ""


def test_the_script_can_be_changed_while_it_runs(start):
    api = start()
    rule = {"recipient": "+4915100000000", "attempts": [2], "code": 131000, "http_status": 500}
    api.ask("config", {"rules": [rule]})
    assert [api.send(opaque_id=f"c:1:{attempt}").status_code for attempt in (1, 2, 3)] == [
        200,
        500,
        200,
    ]


def test_an_inbound_message_reaches_the_webhook(start, webhook):
    api = start(webhook_url=webhook.url)
    api.ask("inbound", {"phone_number_id": NUMBER, "from": "+4915100000000", "text": "STOP"})
    wait_until(lambda: webhook.posts)
    (change,) = json.loads(webhook.posts[0][0])["entry"][0]["changes"]
    assert change["value"]["messages"][0]["text"] == {"body": "STOP"}
    assert change["value"]["messages"][0]["from"] == "4915100000000"


def test_an_inbound_message_answers_the_one_that_is_named(start, webhook):
    api = start(webhook_url=webhook.url)
    said = {"phone_number_id": NUMBER, "from": "+4915100000000", "text": "Yes"}
    assert api.ask("inbound", said | {"context_id": "wamid.1"}).status_code == 200
    wait_until(webhook.messages)
    assert webhook.messages()[0]["context"] == {"from": "15550783881", "id": "wamid.1"}


@pytest.mark.parametrize(
    ("shares", "texts"),
    [
        ({"reply_share": 1.0, "reply_context_share": 1.0}, 12),
        ({"stop_share": 1.0, "reply_context_share": 1.0}, 0),
        ({"reply_share": 1.0, "delivered_share": 0.0}, None),
    ],
    ids=["all answer", "all stop", "nobody is reached"],
)
def test_a_share_of_those_who_are_reached_answers_or_stops(start, webhook, shares, texts):
    api = start(webhook_url=webhook.url, reply_seconds_median=0.02, **shares)
    answers = asyncio.run(burst(api.url, 12))
    wait_until(lambda: api.ask("pending").json() == {"pending": 0})

    said = webhook.messages()
    if texts is None:
        assert said == []
        return
    assert sum(one["text"]["body"] != "STOP" for one in said) == texts
    sent = {body["messages"][0]["id"] for _, body in answers}
    assert {one["context"]["id"] for one in said} == sent


def test_a_kill_loses_nothing_that_was_answered_or_acknowledged(start, webhook):
    api = start(webhook_url=webhook.url)
    answers = asyncio.run(burst(api.url, 40))
    wait_until(lambda: len(webhook.statuses()) > 40)
    api.stop(signal.SIGKILL)
    answered = {body["messages"][0]["id"] for _, body in answers}
    assert answered == {request.wamid for request in ledger.requests(api.ledger)}


def test_a_restart_continues_the_ledger(start):
    first = start()
    first.send()
    first.stop(signal.SIGKILL)
    second = start()
    second.send(opaque_id="c:1:2")
    wamids = {request.wamid for request in ledger.requests(second.ledger)}
    assert len(wamids) == 2
    assert second.ask("ledger").json()["requests"] == {NUMBER: {"accepted": 2}}
    assert [one.attempts for one in ledger.duplicates(second.ledger)] == [(1, 2)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly(start, number):
    assert start().stop(number) == 0


@pytest.fixture
def connect():
    """A client of another author, aimed at the simulation by the base URL of its session."""
    with httpx.Client() as session:

        def connect_to(url):
            client = pywa.WhatsApp(NUMBER, TOKEN, session=session, app_secret=SECRET)
            session.base_url = f"{url}/v25.0"
            return client

        yield connect_to


def test_pywa_sends_a_template_and_reads_its_status(start, webhook, connect):
    api = start(webhook_url=webhook.url, statuses_per_post_max=1, read_share=0.0)
    client = connect(api.url)
    sent = client.send_template(
        "+4915100000000",
        "hello",
        TemplateLanguage.ENGLISH_US,
        [BodyText.params("Pablo")],
        tracker="c:1:1",
    )
    got = []
    client.on_message_status(lambda _, status: got.append(status))
    wait_until(lambda: len(webhook.posts) == 2)
    for body, signature in webhook.posts:
        assert client.webhook_update_validator(body, signature) is None
        client.webhook_update_handler(body)
    assert all(isinstance(status, MessageStatus) for status in got)
    assert [(one.id, one.tracker, one.status) for one in got] == [
        (sent.id, "c:1:1", MessageStatusType.SENT),
        (sent.id, "c:1:1", MessageStatusType.DELIVERED),
    ]


def test_pywa_reads_our_errors(start, connect):
    api = start(rules=[{"code": 130429, "http_status": 429, "details": "too fast"}])
    client = connect(api.url)
    with pytest.raises(pywa.errors.RateLimitHit, match="too fast"):
        client.send_message("+4915100000000", "hi")

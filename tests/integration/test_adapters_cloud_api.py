"""The client of the Cloud API against real HTTP: what can have left is never sent again blindly."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from requests.exceptions import InvalidHeader

from local.processes import free_port
from sluice.adapters.cloud_api import CloudApi, threads_of
from sluice.domain.errors import PauseAccount, Retry
from sluice.domain.outcomes import Accepted, Throttled, Unknown
from tests.conftest import NUMBER
from tests.integration.http_servers import Server, answer

REPOSITORY = Path(__file__).parents[2]
TOKEN = "local-access-token"
MODULE = "sluice.adapters.cloud_api"
BODY = {"messaging_product": "whatsapp", "to": "+4915100000001", "type": "text"}


@pytest.fixture
def serve():
    servers = []

    def start(reply):
        servers.append(Server(reply))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def client(url, *, threads=4, token=lambda **_: TOKEN):
    return CloudApi(url=url, phone_number_id=NUMBER, token=token, threads=threads)


def post(api, *, times=1, **changes):
    """The outcomes of as many requests, in the order of their names."""
    api.prepare()
    for name in range(times):
        api.start(name, BODY | changes, due_at=0.0)
    return [outcome for _, outcome in sorted(take_all(api))]


def take_all(api):
    taken, deadline = [], time.monotonic() + 10
    while api.in_flight:
        assert time.monotonic() < deadline, "no outcome"
        taken += api.take(timeout_seconds=0.2)
    return taken


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """The simulated Cloud API as a process; yields what posts one message with a script."""
    folder = tmp_path_factory.mktemp("cloud-api")
    rules = [
        {"recipient": "+4915100000002", "code": 130429, "http_status": 429, "details": "too fast"},
        {"recipient": "+4915100000003", "code": 131000, "http_status": 500, "details": "sorry"},
    ]
    config = folder / "config.json"
    config.write_text(json.dumps({"latency_milliseconds_median": 5, "rules": rules}))
    command = [sys.executable, "-m", "local.cloud_api", "--port", "0", "--config", str(config)]
    process = subprocess.Popen(
        [*command, "--ledger", str(folder / "ledger.sqlite")],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield f"{process.stdout.readline().split()[1]}/v25.0"
    process.terminate()
    process.wait(timeout=10)
    process.stdout.close()


def text(to):
    return {"to": to, "text": {"body": "hello"}}


def test_a_message_is_accepted_by_the_simulated_api(simulated):
    (outcome,) = post(client(simulated), **text("+4915100000001"))

    assert isinstance(outcome, Accepted)
    assert outcome.wamid.startswith("wamid.")
    assert not outcome.held


def test_a_throttled_message_waits_and_another_error_is_tried_again(simulated):
    (throttled,) = post(client(simulated), **text("+4915100000002"))
    (error,) = post(client(simulated), **text("+4915100000003"))

    assert isinstance(throttled, Throttled)
    assert (throttled.code, throttled.details) == (130429, "too fast")
    assert isinstance(error, Retry)
    assert error.code == 131000


def test_a_token_that_meta_refuses_pauses_the_account(simulated):
    (outcome,) = post(client(simulated, token=lambda **_: "expired"), **text("+4915100000001"))

    assert isinstance(outcome, PauseAccount)
    assert outcome.code == 190


def test_the_request_has_the_token_the_json_and_the_path_of_the_number(serve):
    server = serve(lambda *_: answer())

    assert post(client(server.url)) == [Accepted("wamid.A")]

    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(f"POST /v25.0/{NUMBER}/messages HTTP/1.1".encode())
    assert f"Authorization: Bearer {TOKEN}".encode() in head
    assert json.loads(body) == BODY


@pytest.mark.parametrize(
    "reply",
    [
        None,
        answer()[:-5],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"mes",
        answer(b"<html>Bad Gateway</html>", 502, "Content-Type: text/html"),
        answer(b"not JSON"),
        answer({"messages": []}),
        b"no HTTP at all\r\n\r\n",
        answer({}, 503),
    ],
    ids=[
        "hung_up",
        "truncated",
        "truncated_chunks",
        "html_502",
        "not_json",
        "without_a_wamid",
        "no_http",
        "unavailable",
    ],
)
def test_an_answer_that_tells_nothing_leaves_the_message_unknown(serve, reply):
    closing = reply and reply.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
    server = serve(lambda *_: closing)

    (outcome,) = post(client(server.url))

    assert isinstance(outcome, Unknown)
    assert len(server.requests) == 1, "nothing is sent again blindly"


def test_no_answer_in_time_leaves_the_message_unknown(serve, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.HTTP_READ_TIMEOUT_SECONDS", 0.1)
    server = serve(lambda *_: time.sleep(0.4))

    (outcome,) = post(client(server.url))

    assert outcome == Unknown("ReadTimeout")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "url", [f"http://127.0.0.1:{free_port()}", "http://no-such-host.invalid"], ids=["refused", "dns"]
)
def test_without_a_connection_no_attempt_is_burned(url):
    (outcome,) = post(client(url))

    assert isinstance(outcome, Throttled)
    assert outcome.code == -1
    assert outcome.for_seconds > 0


def test_a_connection_that_is_never_answered_burns_no_attempt(monkeypatch):
    monkeypatch.setattr(f"{MODULE}.HTTP_CONNECT_TIMEOUT_SECONDS", 1e-6)

    (outcome,) = post(client("http://127.0.0.2:9"))

    assert isinstance(outcome, Throttled)
    assert outcome.code == -1


def no_token(**_):
    raise RuntimeError("the secret has no access_token")


@pytest.mark.parametrize("token", [no_token, lambda **_: f"{TOKEN}\n"], ids=["absent", "broken"])
def test_without_a_token_nothing_is_in_flight_and_nothing_leaves(serve, token):
    server = serve(lambda *_: answer())
    api = client(server.url, token=token)
    api.prepare()

    with pytest.raises((RuntimeError, InvalidHeader)):
        api.start("one", BODY, due_at=0.0)

    assert api.in_flight == 0
    assert server.requests == []


def test_a_request_leaves_when_it_is_due_and_says_when(serve):
    api = client(serve(lambda *_: answer()).url)
    api.prepare()
    due_at = time.monotonic() + 0.1

    left_at = api.start("one", BODY, due_at=due_at)

    assert due_at <= left_at <= time.monotonic()
    assert take_all(api) == [("one", Accepted("wamid.A"))]


def test_a_session_that_stood_idle_is_rebuilt_before_it_is_used(serve, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.HTTP_IDLE_SECONDS_MAX", 0.1)
    server = serve(lambda *_: answer())
    api = client(server.url)
    post(api)
    time.sleep(0.2)

    assert post(api) == [Accepted("wamid.A")]
    assert server.connections == 2


def test_after_an_idle_time_in_which_the_server_hung_up_messages_are_accepted(serve, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.HTTP_IDLE_SECONDS_MAX", 0.2)
    server = serve(lambda *_: answer())
    server.idle_seconds = 0.15
    api = client(server.url)

    outcomes = post(api, times=4)
    time.sleep(0.3)
    outcomes += post(api, times=4)

    assert outcomes == [Accepted("wamid.A")] * 8


def test_a_connection_in_use_is_used_again(serve):
    server = serve(lambda *_: answer())
    api = client(server.url)

    for _ in range(10):
        post(api)

    assert server.connections == 1


def test_no_more_connections_are_open_than_there_are_threads(serve):
    def slow(*_):
        time.sleep(0.02)
        return answer()

    server = serve(slow)
    api = client(server.url, threads=5)
    api.prepare()
    taken = []

    for name in range(60):
        api.start(name, BODY, due_at=0.0)
        taken += api.take(timeout_seconds=0.0)
    taken += take_all(api)

    assert len(taken) == len(server.requests) == 60
    assert server.open_max <= 5


def test_it_is_full_when_every_thread_has_a_request(serve):
    def slow(*_):
        time.sleep(0.1)
        return answer()

    api = client(serve(slow).url, threads=2)
    api.prepare()

    api.start("one", BODY, due_at=0.0)
    assert not api.full
    api.start("two", BODY, due_at=0.0)
    assert api.full
    assert {name for name, _ in take_all(api)} == {"one", "two"}
    assert not api.full


def test_outcomes_are_waited_for_and_no_longer_than_told(serve):
    def slow(*_):
        time.sleep(0.3)
        return answer()

    api = client(serve(slow).url)
    api.prepare()
    assert api.take(timeout_seconds=5.0) == [], "nothing is in flight"
    api.start("one", BODY, due_at=0.0)

    began = time.monotonic()
    assert api.take(timeout_seconds=0.05) == []
    assert time.monotonic() - began < 0.25
    assert api.take(timeout_seconds=5.0) == [("one", Accepted("wamid.A"))]


def test_after_error_190_the_token_is_read_afresh(serve):
    refused = {"error": {"code": 190, "message": "expired"}}
    server = serve(lambda request, _: answer() if b"Bearer new" in request else answer(refused, 401))
    asked, tokens = [], {"token": "old"}

    def token(*, fresh):
        asked.append(fresh)
        tokens["token"] = "new" if fresh else tokens["token"]
        return tokens["token"]

    api = client(server.url, token=token)
    (first,) = post(api)
    (second,) = post(api)

    assert isinstance(first, PauseAccount)
    assert second == Accepted("wamid.A")
    assert asked == [False, True, False]


def test_a_redirect_is_not_followed(serve):
    elsewhere = serve(lambda *_: answer())
    server = serve(lambda *_: answer(b"", 307, f"Location: {elsewhere.url}"))

    (outcome,) = post(client(server.url))

    assert isinstance(outcome, Unknown)
    assert elsewhere.requests == [], "the token stays here"


def test_no_cookie_is_kept(serve):
    server = serve(lambda *_: answer({"messages": [{"id": "wamid.A"}]}, 200, "Set-Cookie: a=b"))
    api = client(server.url)

    for _ in range(2):
        post(api)

    assert not [request for request in server.requests if b"cookie: a=b" in request.lower()]


def test_what_the_environment_says_of_proxies_and_passwords_changes_nothing(
    serve, monkeypatch, tmp_path
):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    server = serve(lambda *_: answer())

    post(client(server.url))

    assert f"Authorization: Bearer {TOKEN}".encode() in server.requests[0]


@pytest.mark.parametrize(
    ("rate", "threads"), [(0.5, 16), (8, 16), (40, 80), (95, 190), (200, 256), (1000, 256)]
)
def test_threads_hold_two_seconds_of_work_within_bounds(rate, threads):
    assert threads_of(rate) == threads


def test_names_may_be_anything_that_can_be_a_key(serve):
    api = client(serve(lambda *_: answer()).url, threads=8)
    api.prepare()
    names = [1, ("a", 1), "b"]

    for name in names:
        api.start(name, BODY, due_at=0.0)

    assert {name for name, _ in take_all(api)} == set(names)

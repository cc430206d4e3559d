"""The client of the Cloud API against real HTTP: what can have left is never sent again blindly."""

import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from requests.exceptions import InvalidHeader

from local.processes import free_port
from sluice.domain.errors import PauseAccount, Retry
from sluice.domain.outcomes import Accepted, Throttled, Unknown
from tests.conftest import NUMBER
from tests.integration.cloud_api_client import BODY, MODULE, TOKEN, client, post
from tests.integration.http_servers import answer

REPOSITORY = Path(__file__).parents[2]


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
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"mes',
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
    "url",
    [f"http://127.0.0.1:{free_port()}", "http://no-such-host.invalid"],
    ids=["refused", "dns"],
)
def test_without_a_connection_no_attempt_is_burned(url):
    (outcome,) = post(client(url))

    assert isinstance(outcome, Throttled)
    assert outcome.code == -1
    assert outcome.for_seconds > 0


@pytest.fixture
def deaf():
    """The URL of a server whose queue of connections is full, so that it answers none."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_connection_that_is_never_answered_burns_no_attempt(deaf, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.HTTP_CONNECT_TIMEOUT_SECONDS", 0.1)

    (outcome,) = post(client(deaf))

    assert outcome == Throttled(-1, "ConnectTimeout", 5.0)


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


@pytest.mark.parametrize("rotated", [True, False])
def test_after_error_190_a_rotated_token_is_taken_and_an_expired_one_stops_the_account(
    serve, rotated
):
    refused = {"error": {"code": 190, "message": "expired"}}
    server = serve(
        lambda request, _: answer() if b"Bearer new" in request else answer(refused, 401)
    )
    asked, tokens = [], {"token": "old"}

    def token(*, fresh):
        asked.append(fresh)
        tokens["token"] = "new" if fresh and rotated else tokens["token"]
        return tokens["token"]

    api = client(server.url, token=token)
    (first,) = post(api)
    (second,) = post(api)

    if rotated:
        assert first == Throttled(190, "the token was rotated", 1.0)
        assert second == Accepted("wamid.A")
        assert asked == [False, True, False]
    else:
        assert isinstance(first, PauseAccount)
        assert isinstance(second, PauseAccount)


def test_a_refused_token_is_a_refusal_even_if_no_other_can_be_read(serve):
    server = serve(lambda *_: answer({"error": {"code": 190, "message": "expired"}}, 401))

    def token(*, fresh):
        if fresh:
            raise ConnectionError("no secrets")
        return "old"

    (outcome,) = post(client(server.url, token=token))

    assert isinstance(outcome, PauseAccount)


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

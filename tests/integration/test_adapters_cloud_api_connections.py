"""The connections to the Cloud API: fresh, bounded, and used at the pace that was ordered."""

import time

import pytest

from sluice.adapters.cloud_api import threads_of
from sluice.domain.outcomes import Accepted, Throttled
from tests.integration.cloud_api_client import BODY, MODULE, client, post, take_all
from tests.integration.http_servers import answer


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


def test_names_may_be_anything_that_can_be_a_key(serve):
    api = client(serve(lambda *_: answer()).url, threads=8)
    api.prepare()
    names = [1, ("a", 1), "b"]

    for name in names:
        api.start(name, BODY, due_at=0.0)

    assert {name for name, _ in take_all(api)} == set(names)


@pytest.mark.parametrize(
    ("rate", "threads"), [(0.5, 16), (8, 16), (40, 80), (95, 190), (200, 256), (1000, 256)]
)
def test_threads_hold_two_seconds_of_work_within_bounds(rate, threads):
    assert threads_of(rate) == threads


def test_a_request_leaves_when_it_is_due_and_says_when(serve):
    api = client(serve(lambda *_: answer()).url)
    api.prepare()
    due_at = time.monotonic() + 0.1

    left_at = api.start("one", BODY, due_at=due_at)

    assert due_at <= left_at <= time.monotonic()
    assert take_all(api) == [("one", Accepted("wamid.A"))]


@pytest.mark.parametrize(
    "hello",
    [None, b"HTTP/1.1 400 This is no TLS\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28"],
    ids=["hung_up", "no_tls", "alert"],
)
def test_without_tls_no_byte_has_left_and_no_attempt_is_burned(serve, hello, monkeypatch):
    server = serve(lambda *_: hello)
    monkeypatch.setattr(server, "_request", lambda connection: connection.recv(65536))

    (outcome,) = post(client(server.url.replace("http:", "https:")))

    assert isinstance(outcome, Throttled)
    assert (outcome.code, outcome.for_seconds) == (-1, 5.0)
    assert outcome.details.startswith(("SSL", "Connection"))

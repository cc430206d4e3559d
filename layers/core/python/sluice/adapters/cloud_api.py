"""Meta's Cloud API over one ``requests.Session`` and a bounded pool of threads."""

import queue
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests import PreparedRequest, Request
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.exceptions import ConnectTimeout, RequestException
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    MaxRetryError,
    NewConnectionError,
)

from sluice.domain.errors import classify_answer
from sluice.domain.limits import (
    HTTP_CONNECT_TIMEOUT_SECONDS,
    HTTP_IDLE_SECONDS_MAX,
    HTTP_READ_TIMEOUT_SECONDS,
    THREADS_PER_SLOT_MAX,
    THREADS_PER_SLOT_MIN,
)
from sluice.domain.outcomes import Outcome, PauseAccount, Throttled, Unknown

WATCH_SECONDS = 0.0005
"""How long before its moment a sleep ends: at 40 sends a second, 2 % of a core at the most."""
TOKEN_EXPIRED = 190
ROTATED_SECONDS = 1.0
"""How long the number waits for its other slots to read the new token."""
NOT_CONNECTED = -1
"""Our own code, beside Meta's: no connection, so nothing was sent."""
NOT_CONNECTED_SECONDS = 5.0
"""How long the number waits then: an outage burns nobody's attempts."""


def threads_of(sends_per_second: float) -> int:
    """Return how many requests a slot may have in flight: two seconds of work, within bounds.

    Little's law: in flight = rate x latency; Meta answers in 0.2 to 1 s.
    """
    return max(THREADS_PER_SLOT_MIN, min(THREADS_PER_SLOT_MAX, round(2 * sends_per_second)))


class CloudApi:
    """Posts messages in the background; at most ``threads`` are in flight.

    ``token(fresh=…)`` gives the access token, read again where ``fresh``. Nothing is retried here:
    every request must take its own place in the pace.
    """

    def __init__(
        self, *, url: str, phone_number_id: str, token: Callable[..., str], threads: int
    ) -> None:
        self._url = f"{url.rstrip('/')}/{phone_number_id}/messages"
        self._token = token
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="send")
        self._finished: queue.SimpleQueue[tuple[Hashable, Outcome]] = queue.SimpleQueue()
        self._in_flight = 0
        self._latencies: list[float] = []
        self._session = self._new_session()
        self._used_at = -HTTP_IDLE_SECONDS_MAX

    @property
    def in_flight(self) -> int:
        """Requests that were started and whose outcome was not taken yet."""
        return self._in_flight

    @property
    def full(self) -> bool:
        """Whether another request would have to wait for a thread."""
        return self._in_flight >= self._threads

    def latencies(self) -> list[float]:
        """Return how long each answer since the last call took, in milliseconds from leaving."""
        taken, self._latencies = self._latencies, []
        return taken

    def prepare(self) -> None:
        """Rebuild a session that stood idle: its connections may be dead without knowing."""
        if time.monotonic() - self._used_at > HTTP_IDLE_SECONDS_MAX:
            self._session.close()
            self._session = self._new_session()
            self._finished = queue.SimpleQueue()
            self._in_flight = 0
        self._used_at = time.monotonic()

    def start(self, name: Hashable, body: Mapping[str, Any], *, due_at: float) -> float:
        """Post ``body`` in the background; its outcome comes back under ``name``.

        The thread that writes to the socket waits for ``due_at`` (monotonic seconds), and this
        call for that thread, so that the pace is kept where requests leave, not where they are
        ordered. Returns when it left.
        """
        request = self._prepared(body)
        left_at: Future[float] = Future()
        self._in_flight += 1
        self._pool.submit(self._send_and_report, self._finished, name, request, due_at, left_at)
        self._used_at = left_at.result()
        return self._used_at

    def take(self, *, timeout_seconds: float) -> list[tuple[Hashable, Outcome]]:
        """Return finished requests; wait for the first one up to the timeout."""
        taken: list[tuple[Hashable, Outcome]] = []
        try:
            if self._in_flight and timeout_seconds > 0:
                taken.append(self._finished.get(timeout=timeout_seconds))
            while True:
                taken.append(self._finished.get_nowait())
        except queue.Empty:
            self._in_flight -= len(taken)
            return taken

    def _prepared(self, body: Mapping[str, Any]) -> PreparedRequest:
        headers = {"Authorization": f"Bearer {self._token(fresh=False)}"}
        return self._session.prepare_request(Request("POST", self._url, json=body, headers=headers))

    def _send_and_report(
        self,
        finished: "queue.SimpleQueue[tuple[Hashable, Outcome]]",
        name: Hashable,
        request: PreparedRequest,
        due_at: float,
        left_at: "Future[float]",
    ) -> None:
        _sleep_until(due_at)
        began_at = time.monotonic()
        left_at.set_result(began_at)
        try:
            outcome = self._send(request)
        except Exception as error:  # noqa: BLE001 - whatever happened, the request may have left
            outcome = Unknown(f"{type(error).__name__} while sending")
        self._latencies.append(round(1_000 * (time.monotonic() - began_at), 1))
        finished.put((name, outcome))

    def _send(self, request: PreparedRequest) -> Outcome:
        try:
            answer = self._session.send(
                request,
                timeout=(HTTP_CONNECT_TIMEOUT_SECONDS, HTTP_READ_TIMEOUT_SECONDS),
                allow_redirects=False,
            )
        except RequestException as error:
            return _outcome_of(error)
        outcome = classify_answer(answer.status_code, answer.content, answer.headers)
        if isinstance(outcome, PauseAccount) and outcome.code == TOKEN_EXPIRED:
            return self._after_expiry(request, outcome)
        return outcome

    def _after_expiry(self, request: PreparedRequest, expired: PauseAccount) -> Outcome:
        """Go on with the token that replaced the refused one, if there is one already."""
        try:
            token = self._token(fresh=True)
        except Exception:  # noqa: BLE001 - that no other token can be had changes no refusal
            return expired
        if request.headers["Authorization"] == f"Bearer {token}":
            return expired
        return Throttled(expired.code, "the token was rotated", ROTATED_SECONDS)

    def _new_session(self) -> requests.Session:
        session = requests.Session()
        # No netrc, which would replace our token, and no cookies: each request stands alone.
        session.trust_env = False
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        adapter = _Adapter(
            pool_connections=1, pool_maxsize=self._threads, pool_block=True, max_retries=0
        )
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session


class _Connection(HTTPSConnection):
    """Whatever ends it before TLS stands has one name: no byte of a request has left."""

    def connect(self) -> None:
        try:
            super().connect()
        except (NewConnectionError, ConnectTimeoutError):
            raise
        except (OSError, ValueError, HTTPError) as error:
            raise NewConnectionError(self, type(error).__name__) from error


class _ConnectionPool(HTTPSConnectionPool):
    ConnectionCls = _Connection


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {
            "http": HTTPConnectionPool,
            "https": _ConnectionPool,
        }


def _sleep_until(due_at: float) -> None:
    """Sleep nearly to the moment and watch the clock for the rest.

    A sleep ends late, never early, and what is late is lost: nothing is caught up.
    """
    time.sleep(max(0.0, due_at - time.monotonic() - WATCH_SECONDS))
    while time.monotonic() < due_at:
        pass


def _outcome_of(error: RequestException) -> Outcome:
    """Nothing was sent where no byte can have left; everything else may have reached Meta."""
    if isinstance(error, ConnectTimeout):
        return Throttled(NOT_CONNECTED, type(error).__name__, NOT_CONNECTED_SECONDS)
    cause = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else cause
    if isinstance(error, RequestsConnectionError) and isinstance(reason, NewConnectionError):
        why = type(reason.__cause__ or reason).__name__
        return Throttled(NOT_CONNECTED, why, NOT_CONNECTED_SECONDS)
    return Unknown(type(error).__name__)

"""Delivers webhooks: gathers what is due, posts it signed, and tries again until it gets a 200."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import aiohttp

from local.cloud_api.config import Config
from local.cloud_api.ledger import Status
from local.cloud_api.payloads import Change, StatusUpdate, signature, webhook_body
from local.cloud_api.recorder import Recorder

_EARLY_SECONDS_MAX: Final = 5.0


@dataclass(slots=True)
class _Post:
    """One request to the webhook: the same bytes at every try."""

    body: bytes
    updates: list[StatusUpdate | Change]
    tries: int = 0


class Outbox:
    """Updates that wait for their time, and posts that wait for another try.

    They live in memory: a stop loses what the webhook has not acknowledged.
    """

    def __init__(self, config: Config, recorder: Recorder) -> None:
        self.config = config
        self._recorder = recorder
        self._order = itertools.count()
        self._updates: list[tuple[float, int, StatusUpdate | Change]] = []
        self._retries: list[tuple[float, int, _Post]] = []
        self._early: dict[str, asyncio.Event] = {}
        self._in_flight: dict[asyncio.Task[None], int] = {}
        self._kick = asyncio.Event()

    def schedule(self, due: float, update: StatusUpdate | Change) -> None:
        """Post `update` at `due` (monotonic seconds) or up to one flush interval later."""
        heapq.heappush(self._updates, (due, next(self._order), update))

    def schedule_now(self, update: StatusUpdate | Change) -> None:
        """Post `update` without waiting for the next flush."""
        self.schedule(time.monotonic(), update)
        self._kick.set()

    async def acknowledged_early(self, update: StatusUpdate) -> None:
        """Post `update` now and wait for the webhook's 200, five seconds at most."""
        self.schedule_now(update)
        if not self.config.webhook_url:
            return
        event = self._early[update.wamid] = asyncio.Event()
        try:
            async with asyncio.timeout(_EARLY_SECONDS_MAX):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            del self._early[update.wamid]

    def pending(self) -> int:
        """How many updates the webhook has not acknowledged, due or not."""
        retried = sum(len(post.updates) for _, _, post in self._retries)
        return len(self._updates) + retried + sum(self._in_flight.values())

    async def run(self) -> None:
        """Deliver for ever; updates wait while there is no webhook."""
        limit = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=limit) as session:
            try:
                while True:
                    await self._wait()
                    for post in self._due():
                        self._start(session, post)
                        await self._free_slot()
            finally:
                await self._stop()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self.config.flush_interval_seconds):
                await self._kick.wait()
        except TimeoutError:
            pass
        self._kick.clear()

    def _due(self) -> Iterator[_Post]:
        """Posts to send now. Updates are taken as late as possible, so that they gather."""
        now = time.monotonic()
        while self.config.webhook_url and self._retries and self._retries[0][0] <= now:
            yield heapq.heappop(self._retries)[2]
        while self.config.webhook_url and self._updates and self._updates[0][0] <= now:
            updates: list[StatusUpdate | Change] = []
            while (
                self._updates
                and self._updates[0][0] <= now
                and len(updates) < self.config.statuses_per_post_max
            ):
                updates.append(heapq.heappop(self._updates)[2])
            body = webhook_body(updates, self.config.numbers, self.config.pricing_category)
            yield _Post(body, updates)

    def _start(self, session: aiohttp.ClientSession, post: _Post) -> None:
        task = asyncio.create_task(self._deliver(session, post))
        self._in_flight[task] = len(post.updates)
        task.add_done_callback(self._in_flight.pop)

    async def _free_slot(self) -> None:
        while len(self._in_flight) >= self.config.webhooks_in_flight_max:
            await asyncio.wait(self._in_flight, return_when=asyncio.FIRST_COMPLETED)

    async def _deliver(self, session: aiohttp.ClientSession, post: _Post) -> None:
        await self._recorder.committed()
        if await self._acknowledged(session, post.body):
            self._record(post)
            return
        config = self.config
        wait = min(
            config.webhook_retry_seconds_max, config.webhook_retry_seconds_base * 2**post.tries
        )
        post.tries = min(post.tries + 1, 16)
        heapq.heappush(self._retries, (time.monotonic() + wait, next(self._order), post))

    async def _acknowledged(self, session: aiohttp.ClientSession, body: bytes) -> bool:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "facebookexternalua",
            "X-Hub-Signature-256": signature(self.config.app_secrets[0], body),
        }
        timeout = aiohttp.ClientTimeout(total=self.config.webhook_timeout_seconds)
        try:
            async with session.post(
                self.config.webhook_url, data=body, headers=headers, timeout=timeout
            ) as response:
                await response.read()
                return response.status == 200  # noqa: PLR2004
        except (aiohttp.ClientError, TimeoutError):
            return False

    def _record(self, post: _Post) -> None:
        at, wall = time.monotonic(), time.time()
        for update in post.updates:
            if isinstance(update, StatusUpdate):
                planned = update.planned
                self._recorder.status(
                    Status(
                        at, wall, update.wamid, update.send.opaque_id, planned.status, planned.code
                    )
                )
                if event := self._early.get(update.wamid):
                    event.set()

    async def _stop(self) -> None:
        tasks = list(self._in_flight)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""The HTTP side: takes the time of arrival, asks the engine, records, waits, answers."""

import asyncio
import re
import time
from typing import Final

from aiohttp import web

from local.cloud_api.control import Control
from local.cloud_api.engine import Asked, Engine, Judgement
from local.cloud_api.ledger import Request
from local.cloud_api.management import Management
from local.cloud_api.outbox import Outbox
from local.cloud_api.payloads import StatusUpdate
from local.cloud_api.recorder import Recorder
from local.cloud_api.replies import Replies

_MESSAGES: Final = re.compile(r"/v\d+\.\d+/([^/]+)/(?:marketing_)?messages")
_MANAGEMENT: Final = re.compile(r"/v\d+\.\d+/([^/]+)/([a-z_]+)")
_APP: Final = re.compile(r"/v\d+\.\d+/app")


class CloudApi:
    """The handler of every request. No router or middleware: arrival is read first of all."""

    def __init__(
        self,
        *,
        engine: Engine,
        recorder: Recorder,
        outbox: Outbox,
        replies: Replies,
        control: Control,
        management: Management,
    ) -> None:
        self._engine = engine
        self._recorder = recorder
        self._outbox = outbox
        self._replies = replies
        self._control = control
        self._management = management

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        arrived, wall = time.monotonic(), time.time()
        path = request.path
        if path.startswith("/_sim/"):
            return await self._control.handle(request)
        match = _MESSAGES.fullmatch(path)
        if match is None or request.method != "POST":
            return await self._manage(request)
        asked = Asked(
            id=self._recorder.next_id(),
            arrived=arrived,
            phone_number_id=match[1],
            authorization=request.headers.get("Authorization", ""),
            raw=await request.read(),
        )
        return await self._answer(request, asked, wall)

    async def _manage(self, request: web.BaseRequest) -> web.StreamResponse:
        management, match = self._management, _MANAGEMENT.fullmatch(request.path)
        if match is not None and (request.method, match[2]) == ("POST", "media"):
            return await management.upload(request, match[1])
        edges = {
            "message_templates": management.templates,
            "phone_numbers": management.phone_numbers,
            "subscribed_apps": management.subscribed_apps,
        }
        if match is not None and request.method == "GET" and match[2] in edges:
            return edges[match[2]](request, match[1])
        if request.method == "GET" and _APP.fullmatch(request.path):
            return management.app(request)
        return _unknown_path(request.path)

    async def _answer(
        self, request: web.BaseRequest, asked: Asked, wall: float
    ) -> web.StreamResponse:
        judgement = self._engine.judge(asked)
        self._record(asked, judgement, wall)
        early = self._scheduled(asked, judgement, wall)
        if judgement.latency_seconds:
            await asyncio.sleep(judgement.latency_seconds)
        if early is not None:
            await self._outbox.acknowledged_early(early)
        await self._recorder.committed()
        if judgement.verdict == "lost_answer" and request.transport is not None:
            request.transport.abort()
        return web.Response(
            status=judgement.http_status,
            body=judgement.body,
            content_type=judgement.content_type,
            headers=judgement.headers,
        )

    def _record(self, asked: Asked, judgement: Judgement, wall: float) -> None:
        self._recorder.request(
            Request(
                id=asked.id,
                arrived=judgement.arrived,
                wall=wall,
                phone_number_id=asked.phone_number_id,
                recipient=judgement.recipient,
                opaque_id=judgement.opaque_id,
                verdict=judgement.verdict,
                wamid=judgement.wamid,
                content=judgement.content,
            )
        )

    def _scheduled(self, asked: Asked, judgement: Judgement, wall: float) -> StatusUpdate | None:
        """Schedule the message's statuses; the one that must precede the answer is returned."""
        if judgement.fate is None or judgement.send is None:
            return None
        self._replies.schedule(asked.phone_number_id, judgement)
        updates = [
            StatusUpdate(
                phone_number_id=asked.phone_number_id,
                send=judgement.send,
                wamid=judgement.wamid,
                planned=planned,
                occurred=wall + planned.occurs,
            )
            for planned in judgement.fate.statuses
        ]
        early = updates.pop(0) if judgement.fate.early else None
        for update in updates:
            self._outbox.schedule(judgement.arrived + update.planned.posted, update)
        return early


def _unknown_path(path: str) -> web.Response:
    error = {"message": f"Unknown path components: {path}", "type": "OAuthException", "code": 2500}
    return web.json_response({"error": error}, status=400)

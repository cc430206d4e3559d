"""The simulation's own paths, `/_sim/…`: look at it and change it while it runs."""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from local.cloud_api.config import as_json, changed
from local.cloud_api.engine import Engine
from local.cloud_api.management import Management
from local.cloud_api.outbox import Outbox
from local.cloud_api.payloads import Change
from local.cloud_api.recorder import Recorder
from local.cloud_api.replies import Replies

_Body = Mapping[str, Any]
_Action = Callable[[_Body], Awaitable[dict[str, Any]]]


class Control:
    """GET ledger, health, pending, uploads; POST webhook, config, inbound; 400 if wrong."""

    def __init__(
        self,
        *,
        engine: Engine,
        recorder: Recorder,
        outbox: Outbox,
        replies: Replies,
        management: Management,
    ) -> None:
        self._engine = engine
        self._replies = replies
        self._recorder = recorder
        self._outbox = outbox
        self._management = management
        self.clock_late_seconds_max = 0.0
        self._actions: dict[tuple[str, str], _Action] = {
            ("GET", "/_sim/health"): self._health,
            ("GET", "/_sim/ledger"): self._ledger,
            ("GET", "/_sim/pending"): self._pending,
            ("GET", "/_sim/uploads"): self._uploads,
            ("GET", "/_sim/config"): self._config,
            ("POST", "/_sim/config"): self._config,
            ("POST", "/_sim/webhook"): self._webhook,
            ("POST", "/_sim/inbound"): self._inbound,
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request to `/_sim/…` with JSON."""
        action = self._actions.get((request.method, request.path))
        if action is None:
            return web.json_response({"error": "no such path"}, status=404)
        try:
            body = json.loads(await request.read() or b"{}")
            return web.json_response(await action(body))
        except (KeyError, TypeError, ValueError, aiohttp.ClientError) as error:
            return web.json_response({"error": repr(error)}, status=400)

    async def _health(self, _body: _Body) -> dict[str, Any]:
        return {
            "status": "ok",
            "pending": self._waiting(),
            "clock_late_seconds_max": self.clock_late_seconds_max,
        }

    async def _ledger(self, _body: _Body) -> dict[str, Any]:
        return self._recorder.counts()

    async def _pending(self, _body: _Body) -> dict[str, Any]:
        return {"pending": self._waiting()}

    def _waiting(self) -> int:
        return self._outbox.pending() + self._replies.pending()

    async def _uploads(self, _body: _Body) -> dict[str, Any]:
        """Everything that was uploaded, in its order."""
        return {"uploads": self._management.uploads}

    async def _config(self, body: _Body) -> dict[str, Any]:
        """Change the fields that are named (all of `numbers` or `rules`); answer the config."""
        if body:
            config = changed(self._engine.config, body)
            self._engine.reconfigure(config)
            self._outbox.config = config
            self._management.config = config
        return as_json(self._engine.config)

    async def _webhook(self, body: _Body) -> dict[str, Any]:
        """`{"url"}`; with `verify_token` only if the webhook passes Meta's handshake."""
        if "verify_token" in body:
            await _handshake(body["url"], body["verify_token"])
        await self._config({"webhook_url": body["url"]})
        return {"success": True}

    async def _inbound(self, body: _Body) -> dict[str, Any]:
        """Emit a message, `{"phone_number_id", "from", "text"}` (or `"message"`, its object).

        With `context_id`, the wamid that it answers. It counts in the number's cap.

        Any other change is emitted as it is: `{"account_id", "field", "value"}`.
        """
        if "field" in body:
            self._outbox.schedule_now(Change(body["account_id"], body["field"], body["value"]))
        else:
            content = body.get("message") or {"type": "text", "text": {"body": body["text"]}}
            sender, context_id = body["from"].lstrip("+"), body.get("context_id", "")
            self._replies.say(body["phone_number_id"], sender, content, context_id)
        return {"success": True}


async def _handshake(url: str, verify_token: str) -> None:
    """Meta's verification: the webhook must give the challenge back; ValueError if not."""
    challenge = str(time.monotonic_ns())
    query = urlencode(
        {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": verify_token}
    )
    async with aiohttp.ClientSession() as session, session.get(f"{url}?{query}") as response:
        if response.status != 200 or await response.text() != challenge:  # noqa: PLR2004
            raise ValueError(f"the webhook failed the handshake with HTTP {response.status}")

"""What the Graph API answers beside messages: accounts with what is theirs, uploads of media."""

import json
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import BodyPartReader, web

from local.cloud_api.config import Config, Number
from local.cloud_api.errors import Refusal, error_body

HOUR_SECONDS: Final = 3_600.0
_BAD_TOKEN: Final = Refusal(
    190, 401, message="Invalid OAuth access token - Cannot parse access token"
)
_CHUNK_BYTES: Final = 2**20


def _unknown(object_id: str) -> Refusal:
    return Refusal(
        100,
        message=f"Unsupported get request. Object with ID '{object_id}' does not exist, cannot be"
        " loaded due to missing permissions, or does not support this operation.",
        subcode=33,
    )


def _as_told(phone_number_id: str, number: Number) -> dict[str, Any]:
    return {
        "id": phone_number_id,
        "display_phone_number": number.display_phone_number,
        "verified_name": number.verified_name,
        "status": number.status,
        "quality_rating": number.quality_rating,
        "throughput": {"level": number.throughput},
        "whatsapp_business_manager_messaging_limit": number.messaging_limit,
    }


class Management:
    """Templates are those of the config, of any account; media ids are good for one number."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.uploads: list[dict[str, Any]] = []
        self._calls: dict[str, deque[float]] = {}
        self._media: dict[str, set[str]] = {}

    def knows(self, phone_number_id: str, media_id: str) -> bool:
        """Whether the number has uploaded something under this id."""
        return media_id in self._media.get(phone_number_id, ())

    def templates(self, request: web.BaseRequest, account_id: str) -> web.Response:
        """Answer ``GET /{account}/message_templates`` with a page of them."""
        refusal = self._refusal(request) or self._exhausted(account_id)
        if refusal is not None:
            return self._answer(error_body(refusal, "T"), refusal.http_status, account_id)
        query = request.query
        found = [
            one
            for one in self.config.templates
            if one.get("account_id", account_id) == account_id
            and query.get("name", one["name"]) == one["name"]
        ]
        begin, limit = int(query.get("after", "0")), int(query.get("limit", "25"))
        fields = query.get("fields", "name,language,status,category,components").split(",")
        page = [{field: one[field] for field in fields if field in one} for one in found]
        paging: dict[str, Any] = {"cursors": {"before": str(begin), "after": str(begin + limit)}}
        if begin + limit < len(found):
            # With the token in it, as Meta's has: nobody should follow it.
            paging["next"] = f"{request.url.with_query({'access_token': 'secret'})}"
        body = {"data": page[begin : begin + limit], "paging": paging}
        return self._answer(body, 200, account_id)

    def phone_numbers(self, request: web.BaseRequest, account_id: str) -> web.Response:
        """Answer ``GET /{account}/phone_numbers``: those fields of its numbers that are asked for.

        Source: Meta, business phone numbers, get all; throughput; messaging limits.
        """
        found = {
            phone_number_id: number
            for phone_number_id, number in self.config.numbers.items()
            if number.account_id == account_id
        }
        refusal = self._refusal(request) or self._exhausted(account_id)
        if refusal is None and not found:
            refusal = _unknown(account_id)
        if refusal is not None:
            return self._answer(error_body(refusal, "P"), refusal.http_status, account_id)
        fields = request.query.get("fields", "id,display_phone_number,quality_rating").split(",")
        told = [_as_told(one, number) for one, number in found.items()]
        page = [{field: one[field] for field in ("id", *fields) if field in one} for one in told]
        return self._answer({"data": page}, 200, account_id)

    def subscribed_apps(self, request: web.BaseRequest, account_id: str) -> web.Response:
        """Answer ``GET /{account}/subscribed_apps``. Source: Meta, manage webhooks."""
        refusal = self._refusal(request) or self._exhausted(account_id)
        if refusal is not None:
            return self._answer(error_body(refusal, "S"), refusal.http_status, account_id)
        link = "https://www.facebook.com/games/?app_id="
        apps = [
            {"whatsapp_business_api_data": {"id": one, "link": link + one, "name": f"App {one}"}}
            for one in self.config.subscribed_apps
        ]
        return self._answer({"data": apps}, 200, account_id)

    def app(self, request: web.BaseRequest) -> web.Response:
        """Answer ``GET /app``: which app the token is of."""
        refusal = self._refusal(request)
        if refusal is not None:
            return web.json_response(error_body(refusal, "A"), status=refusal.http_status)
        return web.json_response({"id": self.config.app_id, "name": f"App {self.config.app_id}"})

    async def upload(self, request: web.BaseRequest, phone_number_id: str) -> web.Response:
        """Answer ``POST /{number}/media`` with an id."""
        refusal = self._refusal(request)
        if refusal is None and phone_number_id not in self.config.numbers:
            refusal = Refusal(100, message="Unsupported post request.", subcode=33)
        fields: dict[str, Any] = {}
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader):
                continue
            if part.name == "file":
                fields |= {"file_type": part.headers.get("Content-Type"), "bytes": 0}
                while content := await part.read_chunk(_CHUNK_BYTES):
                    fields["bytes"] += len(content)
            else:
                fields[str(part.name)] = await part.text()
        if refusal is None and (fields.get("messaging_product") != "whatsapp"):
            refusal = Refusal(100, message="(#100) The parameter messaging_product is required.")
        if refusal is None and not fields.get("bytes"):
            refusal = Refusal(131053, details="The file is empty.")
        if refusal is not None:
            return web.json_response(error_body(refusal, "M"), status=refusal.http_status)
        media_id = str(10**15 + len(self.uploads))
        self.uploads.append({"phone_number_id": phone_number_id, "id": media_id, **fields})
        self._media.setdefault(phone_number_id, set()).add(media_id)
        return web.json_response({"id": media_id})

    def _refusal(self, request: web.BaseRequest) -> Refusal | None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.config.access_tokens:
            return _BAD_TOKEN
        code = self.config.management_code
        return Refusal(code, details="As the script says.") if code is not None else None

    def _exhausted(self, account_id: str) -> Refusal | None:
        """The rolling hour of management calls, in which refused ones do not count."""
        calls, now = self._calls.setdefault(account_id, deque()), time.monotonic()
        while calls and calls[0] <= now - HOUR_SECONDS:
            calls.popleft()
        if len(calls) >= self.config.management_calls_per_hour:
            return Refusal(80008, details="There have been too many calls to this account.")
        calls.append(now)
        return None

    def _answer(self, body: Mapping[str, Any], status: int, account_id: str) -> web.Response:
        granted = max(1, self.config.management_calls_per_hour)
        share = min(100, 100 * len(self._calls.get(account_id, ())) // granted)
        usage = {
            "type": "whatsapp_business_management",
            "call_count": share,
            "total_cputime": 1,
            "total_time": 1,
            "estimated_time_to_regain_access": 7 if status != 200 and share == 100 else 0,  # noqa: PLR2004
        }
        headers = {"X-Business-Use-Case-Usage": json.dumps({account_id: [usage]})}
        return web.json_response(body, status=status, headers=headers)

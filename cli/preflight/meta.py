"""What preflight asks Meta's Graph API about accounts, numbers and apps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import requests
from requests.exceptions import RequestException

from cli.preflight.checks import Unreadable
from sluice.domain.documents import json_object
from sluice.domain.graph import refusal_of

CALL_SECONDS_MAX: Final = 20
NUMBERS_PER_PAGE: Final = 100
PAGES_MAX: Final = 20
FIELDS: Final = (
    "id,display_phone_number,verified_name,status,quality_rating,throughput,"
    "whatsapp_business_manager_messaging_limit"
)
"""Source: Meta, business phone numbers; throughput; messaging limits."""
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class KnownNumber:
    """A number as Meta has it; empty where Meta does not tell."""

    phone_number_id: str
    status: str
    quality: str
    throughput: str
    messaging_limit: str


class Meta:
    """The Graph API, asked with the senders' token."""

    def __init__(self, *, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._session = requests.Session()
        # As an authentication, because netrc would replace a header.
        self._session.auth = _Bearer(token)

    def numbers(self, account_id: str) -> Mapping[str, KnownNumber] | Unreadable:
        """Every number of an account, by phone_number_id."""
        found: dict[str, KnownNumber] = {}
        parameters = {"fields": FIELDS, "limit": str(NUMBERS_PER_PAGE)}
        for _ in range(PAGES_MAX):
            page = self._asked(f"{account_id}/phone_numbers", parameters)
            if isinstance(page, Unreadable):
                return page
            for one in _objects(page.get("data")):
                found[str(one.get("id"))] = _number_of(one)
            paging = _object(page.get("paging"))
            after = _object(paging.get("cursors")).get("after")
            if not paging.get("next") or not after:
                return found
            parameters["after"] = str(after)
        return Unreadable(f"more than {PAGES_MAX} pages of numbers")

    def subscribed_apps(self, account_id: str) -> frozenset[str] | Unreadable:
        """Ids of the apps that get the webhooks of an account."""
        answer = self._asked(f"{account_id}/subscribed_apps", {})
        if isinstance(answer, Unreadable):
            return answer
        apps = (
            _object(one.get("whatsapp_business_api_data")) for one in _objects(answer.get("data"))
        )
        return frozenset(str(app["id"]) for app in apps if "id" in app)

    def app(self) -> str | Unreadable:
        """Id of the app that the token is of."""
        answer = self._asked("app", {})
        if isinstance(answer, Unreadable):
            return answer
        return str(answer["id"]) if "id" in answer else Unreadable("the answer has no id")

    def _asked(self, path: str, parameters: Mapping[str, str]) -> dict[str, Any] | Unreadable:
        try:
            answer = self._session.get(
                f"{self._url}/{path}",
                params=parameters,
                timeout=CALL_SECONDS_MAX,
                allow_redirects=False,
            )
        except RequestException as error:
            return Unreadable(f"{type(error).__name__}: {self._url} cannot be asked")
        if answer.status_code != _OK:
            refusal = refusal_of(answer.status_code, answer.content, rest_seconds=0.0)
            return Unreadable(refusal.reason)
        document = json_object(answer.content)
        if document is None or ("data" not in document and "id" not in document):
            return Unreadable("the answer has another shape")
        return dict(document)


class _Bearer(requests.auth.AuthBase):
    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _number_of(told: Mapping[str, Any]) -> KnownNumber:
    return KnownNumber(
        phone_number_id=str(told.get("id")),
        status=str(told.get("status") or ""),
        quality=str(told.get("quality_rating") or ""),
        throughput=str(_object(told.get("throughput")).get("level") or ""),
        messaging_limit=str(told.get("whatsapp_business_manager_messaging_limit") or ""),
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [_object(one) for one in value] if isinstance(value, list) else []

"""Meta's Graph API beside the messages: templates of an account, uploads of media."""

import secrets
from collections.abc import Callable, Iterator
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final, Protocol

import requests
from requests.exceptions import RequestException

from sluice.domain.delivery import integer_of
from sluice.domain.documents import json_object
from sluice.domain.graph import (
    TEMPLATES_PER_PAGE,
    Declined,
    TemplatePage,
    Unavailable,
    Uploaded,
    page_of,
    refusal_of,
    rest_seconds_of,
)
from sluice.domain.limits import HTTP_CONNECT_TIMEOUT_SECONDS

ASK_TIMEOUT_SECONDS: Final = 20.0
UPLOAD_TIMEOUT_SECONDS: Final = 60.0
"""Without a byte: a large file as a whole may take longer."""
FIELDS: Final = "name,language,status,category,components,parameter_format,quality_score"
TOKEN_EXPIRED: Final = 190
_OK: Final = 200


class Readable(Protocol):
    """Bytes that are read once."""

    def read(self, size: int) -> bytes:
        """Return the next bytes, none at the end."""


class GraphApi:
    """Asks with the token of the senders; nothing is repeated here but after a rotated token.

    ``token(fresh=…)`` gives the access token, read again where ``fresh``.
    """

    def __init__(self, *, url: str, token: Callable[..., str]) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._session = requests.Session()
        # No netrc, which would replace our token, and no cookies.
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))

    def templates(
        self, account_id: str, *, name: str | None = None, after: str | None = None
    ) -> TemplatePage | Unavailable:
        """Return a page of the account's templates, all of them or those of one name."""
        parameters: dict[str, Any] = {"fields": FIELDS, "limit": TEMPLATES_PER_PAGE}
        parameters |= {"name": name} if name is not None else {}
        parameters |= {"after": after} if after is not None else {}
        path = f"{account_id}/message_templates"
        answer = self._ask("GET", path, ASK_TIMEOUT_SECONDS, params=parameters)
        if not isinstance(answer, Unavailable) and self._renewed(answer):
            answer = self._ask("GET", path, ASK_TIMEOUT_SECONDS, params=parameters)
        if isinstance(answer, Unavailable):
            return answer
        rest_seconds = rest_seconds_of(answer.headers)
        if answer.status_code == _OK:
            return page_of(answer.content, rest_seconds=rest_seconds)
        refusal = refusal_of(answer.status_code, answer.content, rest_seconds=rest_seconds)
        return Unavailable(refusal.reason, rest_seconds)

    def upload(
        self, phone_number_id: str, content: Readable, *, size_bytes: int, media_type: str
    ) -> Uploaded | Unavailable | Declined:
        """Upload a file for one number, as a stream; its id lives for 30 days."""
        form = _Form(content, size_bytes=size_bytes, media_type=media_type)
        headers = {"Content-Type": form.content_type}
        path = f"{phone_number_id}/media"
        answer = self._ask("POST", path, UPLOAD_TIMEOUT_SECONDS, data=form, headers=headers)
        if isinstance(answer, Unavailable):
            return answer
        if answer.status_code == _OK:
            media_id = (json_object(answer.content) or {}).get("id")
            if isinstance(media_id, str) and media_id:
                return Uploaded(media_id)
            return Unavailable("the answer to an upload has no id")
        # The stream is used up: the next try takes the token that is read here.
        self._renewed(answer)
        return refusal_of(answer.status_code, answer.content, rest_seconds=0.0)

    def _ask(
        self, method: str, path: str, timeout_seconds: float, **more: Any
    ) -> requests.Response | Unavailable:
        headers = {**more.pop("headers", {}), "Authorization": f"Bearer {self._token(fresh=False)}"}
        try:
            return self._session.request(
                method,
                f"{self._url}/{path}",
                headers=headers,
                timeout=(HTTP_CONNECT_TIMEOUT_SECONDS, timeout_seconds),
                allow_redirects=False,
                **more,
            )
        except RequestException as error:
            return Unavailable(type(error).__name__)

    def _renewed(self, answer: requests.Response) -> bool:
        """Whether the token was refused, and there is another one by now."""
        error = (json_object(answer.content) or {}).get("error")
        code = integer_of(error.get("code")) if isinstance(error, dict) else None
        if answer.status_code == _OK or code != TOKEN_EXPIRED:
            return False
        return self._token(fresh=False) != self._token(fresh=True)


class _Form:
    """A multipart/form-data body of one file, of a known length, and never whole in memory.

    ``requests`` itself would read all of the file first: up to 100 MB.
    """

    def __init__(self, content: Readable, *, size_bytes: int, media_type: str) -> None:
        boundary = secrets.token_hex(16)
        ending = media_type.rpartition("/")[2].rpartition(".")[2]
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self._head = "".join((
            f"--{boundary}\r\n",
            'Content-Disposition: form-data; name="messaging_product"\r\n\r\nwhatsapp\r\n',
            f"--{boundary}\r\n",
            f'Content-Disposition: form-data; name="type"\r\n\r\n{media_type}\r\n',
            f"--{boundary}\r\n",
            f'Content-Disposition: form-data; name="file"; filename="media.{ending}"\r\n',
            f"Content-Type: {media_type}\r\n\r\n",
        )).encode()  # fmt: skip
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._length = len(self._head) + size_bytes + len(self._tail)
        self._content = content

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        """Yield the parts; ``requests`` takes only what can be iterated for a stream."""
        while part := self.read(2**20):
            yield part

    def read(self, size: int = 2**20) -> bytes:
        """Return the next bytes: what stands before the file, the file, what stands after it."""
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
            return part
        part = self._content.read(size)
        if not part:
            part, self._tail = self._tail[:size], self._tail[size:]
        return part

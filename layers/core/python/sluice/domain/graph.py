"""What Meta's Graph API answers about templates and media: closed sets, errors among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sluice.domain.delivery import integer_of
from sluice.domain.documents import json_object
from sluice.domain.errors import details_of, wait_seconds_of

CALLS_PER_HOUR_MAX: Final = 200
"""Management calls of an app for an account in any hour; an active one has 5,000, which we do not
rely on. Source: Meta, about the platform, rate limits."""
TEMPLATES_PER_PAGE: Final = 200
USAGE_SHARE_MAX: Final = 95
"""Per cent of what Meta grants an account: from there on we leave the rest to others."""
USAGE_REST_SECONDS: Final = 300.0
_SHARES: Final = ("call_count", "total_cputime", "total_time")
_DECLINED: Final = frozenset({100, 131008, 131009, 131051, 131052, 131053})
"""What is wrong with the file or the request, and stays wrong."""


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template as Meta has it, in one language."""

    name: str
    language: str
    """With an underscore: ``en_US``."""
    status: str
    category: str
    """APPROVED, MARKETING and so on: in capitals."""
    components: tuple[Mapping[str, Any], ...]
    parameter_format: str
    """NAMED or POSITIONAL; empty where Meta does not tell."""
    quality: str


@dataclass(frozen=True, slots=True)
class KnownTemplate:
    """A template as we have it."""

    template: StoredTemplate
    synced_at: datetime | None
    """When the Graph API told it; None: a signal came since, so it should be asked again."""


@dataclass(frozen=True, slots=True)
class TemplatePage:
    """Some of an account's templates; ``after`` is where the next ones begin, if there are any."""

    templates: tuple[StoredTemplate, ...]
    after: str | None
    rest_seconds: float = 0.0
    """How long the account should be left alone now."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file is with Meta, for 30 days, for one number."""

    media_id: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There is no answer now: the API is down, may not be asked, or asked too often."""

    reason: str
    rest_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Declined:
    """What was asked will never be done."""

    reason: str


def language_of(code: str) -> str:
    """A language code as Meta sends it in most places: ``en-US`` and ``en_US`` are one."""
    return code.replace("-", "_")


def page_of(content: bytes, *, rest_seconds: float) -> TemplatePage | Unavailable:
    """Read a page of ``GET /{account}/message_templates``; what is no template is left out."""
    document = json_object(content)
    found = document.get("data") if document is not None else None
    if document is None or not isinstance(found, list):
        return Unavailable("the answer is no list of templates", rest_seconds)
    templates = [template_of(one) for one in found]
    paging = _object(document.get("paging"))
    after = _object(paging.get("cursors")).get("after")
    more = bool(paging.get("next")) and isinstance(after, str) and bool(after)
    return TemplatePage(
        tuple(one for one in templates if one is not None), after if more else None, rest_seconds
    )


def template_of(document: object) -> StoredTemplate | None:
    """Read one template of Meta's; None where even its name or language is missing."""
    told = _object(document)
    name, language = told.get("name"), told.get("language")
    if not isinstance(name, str) or not isinstance(language, str):
        return None
    components = told.get("components")
    return StoredTemplate(
        name=name,
        language=language_of(language),
        status=_capitals(told.get("status")),
        category=_capitals(told.get("category")),
        components=tuple(
            one for one in (components if isinstance(components, list) else ()) if _object(one)
        ),
        parameter_format=_capitals(told.get("parameter_format")),
        quality=_capitals(_object(told.get("quality_score")).get("score")),
    )


def refusal_of(status: int, content: bytes, *, rest_seconds: float) -> Unavailable | Declined:
    """What an answer comes to that is an error."""
    error = _object((json_object(content) or {}).get("error"))
    code = integer_of(error.get("code"))
    if code is None:
        return Unavailable(f"HTTP {status}", rest_seconds)
    reason = f"{code} {details_of(error)}".strip()
    return Declined(reason) if code in _DECLINED else Unavailable(reason, rest_seconds)


def rest_seconds_of(headers: Mapping[str, str]) -> float:
    """How long an account should be left alone, by the usage that an answer tells; 0: not at all.

    As long as Meta says, else five minutes where nearly all of the hour's calls are used.
    """
    waiting = wait_seconds_of(headers)
    if waiting:
        return waiting
    text = next((v for n, v in headers.items() if n.lower() == "x-business-use-case-usage"), "")
    return USAGE_REST_SECONDS if _share(text) >= USAGE_SHARE_MAX else 0.0


def _share(text: str) -> int:
    usage = json_object(text.encode()) or {}
    rows = [row for rows in usage.values() if isinstance(rows, list) for row in rows]
    shares = [integer_of(_object(row).get(name)) for row in rows for name in _SHARES]
    return max((share for share in shares if share is not None), default=0)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _capitals(value: object) -> str:
    return value.upper() if isinstance(value, str) else ""

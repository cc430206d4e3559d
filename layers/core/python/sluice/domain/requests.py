"""What may be published to the topic, parsed: a request, or what is wrong with it."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from sluice.domain.documents import json_object
from sluice.domain.models.audience import (
    AUDIENCE,
    AUDIENCE_ACTIONS,
    AudienceRequest,
    DropAudience,
    SaveAudience,
)
from sluice.domain.models.campaign import (
    AUDIENCE_TAGS,
    CampaignRequest,
    InlineAudience,
    SavedAudience,
    StoredAudience,
)
from sluice.domain.models.command import COMMAND, COMMAND_ACTIONS, Command
from sluice.domain.models.common import Recipient, Template
from sluice.domain.models.erase import EraseRequest
from sluice.domain.models.exclusions import EXCLUSION_TAGS, ExcludedAudience, ExcludedCampaign
from sluice.domain.models.export import ExportRequest
from sluice.domain.models.schedule import SCHEDULE, SCHEDULE_ACTIONS, ScheduleRequest
from sluice.domain.models.send import Chunk, SendRequest
from sluice.domain.models.suppressions import (
    SUPPRESSIONS,
    SUPPRESSIONS_ACTIONS,
    ListRequest,
    SuppressionsExport,
    SuppressionsRequest,
)
from sluice.domain.problems import Problem, path_of

__all__ = [
    "AudienceRequest",
    "CampaignRequest",
    "Chunk",
    "Command",
    "DropAudience",
    "EraseRequest",
    "ExcludedAudience",
    "ExcludedCampaign",
    "ExportRequest",
    "InlineAudience",
    "ListRequest",
    "Recipient",
    "Request",
    "SaveAudience",
    "SavedAudience",
    "SendRequest",
    "StoredAudience",
    "SuppressionsExport",
    "SuppressionsRequest",
    "Template",
    "parse",
    "request_hash",
    "schema_of",
]

Request = (
    CampaignRequest
    | SendRequest
    | Chunk
    | Command
    | SuppressionsRequest
    | AudienceRequest
    | ExportRequest
    | ScheduleRequest
    | EraseRequest
)

PROBLEMS_MAX: Final = 20
"""Problems told of one message: more are not read by anybody."""

_KINDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "campaign": TypeAdapter(CampaignRequest),
    "send": TypeAdapter(SendRequest),
    "command": COMMAND,
    "suppressions": SUPPRESSIONS,
    "audience": AUDIENCE,
    "export": TypeAdapter(ExportRequest),
    "schedule": SCHEDULE,
    "erase": TypeAdapter(EraseRequest),
}
_ACTIONS: Final = {
    "command": COMMAND_ACTIONS,
    "suppressions": SUPPRESSIONS_ACTIONS,
    "audience": AUDIENCE_ACTIONS,
    "schedule": SCHEDULE_ACTIONS,
}
_CHUNK: Final = TypeAdapter(Chunk)
_NUL: Final = re.compile(rb"\x00|(?<!\\)(?:\\\\)*\\u0000")
_TAGS: Final = AUDIENCE_TAGS.union(EXCLUSION_TAGS, *_ACTIONS.values())
"""What pydantic names between two fields, and nobody wrote."""
_ATTRIBUTES_IN_BODY: Final = ("phone_number_id", "lane")
_DIFFERS: Final = "differs from the message attribute of that name"
_UNKNOWN_TAG: Final = ("union_tag_not_found", "union_tag_invalid")


def parse(body: str | bytes, attributes: Mapping[str, str]) -> Request | list[Problem]:
    """The request that a message holds, or everything that is wrong with it. Never raises.

    ``attributes`` are the message attributes; the kind is taken from them, else from the body,
    and whatever both say must agree, because the attributes decide where a message goes.
    """
    content = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    document = json_object(content)
    if document is None:
        return [Problem("", "is not a JSON object")]
    if _NUL.search(content):
        return [Problem("", "holds a NUL character, which the database does not take")]
    kind = str(attributes.get("kind", document.get("kind")))
    adapter = _KINDS.get(kind)
    if adapter is None:
        return [Problem("kind", f"is none of {', '.join(_KINDS)}")]
    if document.get("kind", kind) != kind:
        return [Problem("kind", _DIFFERS)]
    if kind == "send" and document.keys() & {"campaign_id", "seqs"}:
        adapter = _CHUNK
    try:
        request: Request = adapter.validate_json(content)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        return [_problem(detail, kind) for detail in errors[:PROBLEMS_MAX]]
    return _disagreements(request, attributes) or request


def request_hash(request: Request) -> str:
    """SHA-256 of the request's content, in hex: the same for the same meaning.

    The order of keys, defaults written out and the offset of a time make no difference.
    """
    document = request.model_dump(mode="json")
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON schema of what anybody may publish as a kind."""
    schema = _KINDS[kind].json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _problem(detail: ErrorDetails, kind: str) -> Problem:
    if detail["type"] in _UNKNOWN_TAG:
        return Problem("action", f"is none of {', '.join(sorted(_ACTIONS[kind]))}")
    path = path_of(part for part in detail["loc"] if part not in _TAGS)
    return Problem(path, detail["msg"].removeprefix("Value error, "))


def _disagreements(request: Request, attributes: Mapping[str, str]) -> list[Problem]:
    return [
        Problem(name, _DIFFERS)
        for name in _ATTRIBUTES_IN_BODY
        if name in attributes and getattr(request, name, attributes[name]) != attributes[name]
    ]

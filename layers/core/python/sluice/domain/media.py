"""Media of a template's header: named by a file in S3, sent by the id of its upload.

Sources: Meta, supported media types; media ids live for 30 days.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sluice.domain.documents import mappings_in
from sluice.domain.problems import Problem

UPLOAD_YOUNG: Final = timedelta(days=25)
"""An older upload is made anew when a campaign asks for it."""
UPLOAD_VALID: Final = timedelta(days=29)
"""An older one is not sent any more: Meta forgets it after 30 days."""

URI_PATTERN: Final = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[^{}]{1,1024}")
MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Kind:
    """What Meta takes as one kind of media."""

    megabytes_max: int
    types: Mapping[str, str]
    """By the end of a file's name."""


_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
KINDS: Final[Mapping[str, Kind]] = {
    "image": Kind(5, {"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png"}),
    "video": Kind(16, {"mp4": "video/mp4", "3gp": "video/3gpp"}),
    "document": Kind(
        100,
        {
            "pdf": "application/pdf",
            "txt": "text/plain",
            "doc": "application/msword",
            "docx": f"{_OFFICE}.wordprocessingml.document",
            "xls": "application/vnd.ms-excel",
            "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
            "ppt": "application/vnd.ms-powerpoint",
            "pptx": f"{_OFFICE}.presentationml.presentation",
        },
    ),
}
_UNTOLD: Final = ("", "binary/octet-stream", "application/octet-stream")
"""Types that S3 gives to an object whose uploader told none."""


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A file in S3 as it is now."""

    uri: str
    etag: str
    size_bytes: int
    type: str
    """As S3 has it."""


@dataclass(frozen=True, order=True, slots=True)
class MediaRef:
    """A file that a template names."""

    uri: str
    kind: str

    def type_of(self, file: MediaFile) -> str:
        """The file's type: as its uploader told, else by the end of its name."""
        told = file.type.partition(";")[0].strip().lower()
        ending = self.uri.rpartition(".")[2].lower()
        return KINDS[self.kind].types.get(ending, told) if told in _UNTOLD else told

    def flaws(self, file: MediaFile) -> list[Problem]:
        """What Meta would not take."""
        kind, flaws = KINDS[self.kind], []
        if file.size_bytes > kind.megabytes_max * MEBIBYTE:
            flaws.append(f"has more than {kind.megabytes_max} MB")
        if file.size_bytes == 0:
            flaws.append("is empty")
        if self.type_of(file) not in kind.types.values():
            flaws.append("is of a type that WhatsApp does not take")
        return [Problem("template.header", f"the {self.kind} {flaw}: {self.uri}") for flaw in flaws]


def media_of(template: Mapping[str, Any]) -> tuple[MediaRef, ...]:
    """The files that a template's headers name, each once."""
    return tuple(sorted({ref for ref in _refs(template.get("components")) if ref is not None}))


def misnamed_media(template: Mapping[str, Any]) -> str | None:
    """What is wrong with how the template names its files, if anything is."""
    refs = list(_refs(template.get("components")))
    if None in refs or sum(1 for _ in _named(template.get("components"))) != len(refs):
        return "s3 stands in an image, a video or a document of a header, as s3://bucket/key"
    return None


def with_media(template: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """The template with each file that has an id in ``ids`` (by URI) named by it."""
    return {**template, "components": _by_id(template.get("components") or [], ids)}


def _refs(components: object) -> Iterator[MediaRef | None]:
    """Each file of a header; None for one that is named wrongly."""
    for component in mappings_in(components):
        if str(component.get("type")).lower() == "header":
            for parameter in mappings_in(component.get("parameters")):
                yield from _of_parameter(parameter)
        for card in mappings_in(component.get("cards")):
            yield from _refs(card.get("components"))


def _of_parameter(parameter: Mapping[str, Any]) -> Iterator[MediaRef | None]:
    kind = parameter.get("type")
    content = parameter.get(kind) if isinstance(kind, str) and kind in KINDS else None
    if isinstance(content, Mapping) and "s3" in content:
        uri = content["s3"]
        good = isinstance(uri, str) and URI_PATTERN.fullmatch(uri)
        alone = not content.keys() & {"id", "link"}
        yield MediaRef(str(uri), str(kind)) if good and alone else None


def _named(node: Any) -> Iterator[Any]:
    """Whatever is called s3, anywhere."""
    if isinstance(node, Mapping):
        yield from (part for key, part in node.items() if key == "s3")
        for part in node.values():
            yield from _named(part)
    elif isinstance(node, list | tuple):
        for part in node:
            yield from _named(part)


def _by_id(node: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(node, Mapping):
        if isinstance(node.get("s3"), str) and node["s3"] in ids:
            rest = {key: part for key, part in node.items() if key != "s3"}
            return {"id": ids[node["s3"]], **rest}
        return {key: _by_id(part, ids) for key, part in node.items()}
    if isinstance(node, list | tuple):
        return [_by_id(part, ids) for part in node]
    return node

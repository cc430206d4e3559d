"""Template messages: placeholders filled with a recipient's parameters, and the request's JSON."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sluice.domain.addresses import Address
from sluice.domain.delivery import OpaqueId
from sluice.domain.problems import Problem

# Spaces are taken away afterwards: an expression that does it needs the cube of their number.
_PLACEHOLDER: Final = re.compile(r"\{\{([^{}]*)\}\}")


def columns_of(template: Mapping[str, Any]) -> frozenset[str]:
    """The columns that the components of a template name as ``{{column}}``."""
    return frozenset(
        match[1].strip()
        for _, text in _texts(template.get("components"), "components")
        for match in _PLACEHOLDER.finditer(text)
    )


def pieces_of(text: str) -> tuple[str, ...]:
    """A text taken apart: literal, column, literal, and so on, a literal first and last."""
    pieces = _PLACEHOLDER.split(text)
    return tuple(piece.strip() if place % 2 else piece for place, piece in enumerate(pieces))


def render(
    template: Mapping[str, Any], parameters: Mapping[str, str]
) -> dict[str, Any] | list[Problem]:
    """The template with every ``{{column}}`` of its components filled in.

    Problems instead, one for each column, where a value is missing or blank: Meta refuses a blank
    parameter, and a message with a hole is worse than none.
    """
    values = {name: parameters.get(name, "") for name in sorted(columns_of(template))}
    blank = [name for name, value in values.items() if not value.strip()]
    if blank:
        return [Problem(f"parameters.{name}", "is missing or blank") for name in blank]
    return {**template, "components": _filled(template.get("components", []), values)}


def message_body(
    *,
    address: Address,
    opaque_id: OpaqueId | str,
    template: Mapping[str, Any] | None = None,
    message: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The JSON of ``POST /{phone_number_id}/messages`` for one recipient.

    Exactly one of ``template`` (name, language, components; rendered) and ``message`` (a free-form
    object such as ``{"type": "text", "text": {"body": "…"}}``). A BSUID goes into ``recipient``:
    in ``to`` it is accepted and silently lost.
    Source: Meta, send messages.
    """
    assert (template is None) != (message is None), "a message is a template or free-form"
    content = _template_content(template) if template is not None else dict(message or {})
    return content | {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to" if address.kind == "phone" else "recipient": address.value,
        "biz_opaque_callback_data": str(opaque_id),
    }


def _template_content(template: Mapping[str, Any]) -> dict[str, Any]:
    content = {"name": template["name"], "language": {"code": template["language"]}}
    components = template.get("components")
    return {
        "type": "template",
        "template": content | ({"components": components} if components else {}),
    }


def _texts(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text under a node of JSON, with its path."""
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, Mapping):
        for key, part in node.items():
            yield from _texts(part, f"{path}.{key}")
    elif isinstance(node, list | tuple):
        for index, part in enumerate(node):
            yield from _texts(part, f"{path}.{index}")


def _filled(node: Any, values: Mapping[str, str]) -> Any:
    if isinstance(node, str):
        return _PLACEHOLDER.sub(lambda match: values[match[1].strip()], node)
    if isinstance(node, Mapping):
        return {key: _filled(part, values) for key, part in node.items()}
    if isinstance(node, list | tuple):
        return [_filled(part, values) for part in node]
    return node

"""YAML as people mean it: YAML 1.2's core words only, no key twice, every problem at once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

_STRING: Final = "tag:yaml.org,2002:str"
_CORE: Final = (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?[0-9]+\.[0-9]+", list("-+0123456789")),
)
"""Source: https://yaml.org/spec/1.2.2/#103-core-schema, without what no stage needs."""


class YamlError(ValueError):
    """Text that is no YAML document of ours; its message lists every reason, with its line."""


class _Loader(yaml.SafeLoader):
    """PyYAML speaks YAML 1.1, where ``no`` is false and ``12:30`` is a number."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own, emptied


for _tag, _pattern, _first in _CORE:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first
    )


def values_of(text: str) -> dict[str, Any]:
    """The mapping that a document is. Raises ``YamlError``."""
    try:
        document = yaml.compose(text, Loader=_Loader)
        if not isinstance(document, yaml.MappingNode):
            raise YamlError("line 1: a mapping is wanted, like `stage: dev`")
        problems = list(_problems(document))
        if problems:
            raise YamlError("\n".join(problems))
        values: dict[str, Any] = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        raise YamlError(str(error)) from None
    return values


def values_in(file: Path) -> dict[str, Any]:
    """The mapping that a file holds. Raises ``YamlError``."""
    return values_of(file.read_text(encoding="utf-8"))


def _problems(node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _problems(item)
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            yield from _key_problems(key, seen)
            yield from _problems(value)


def _key_problems(key: yaml.Node, seen: dict[str, int]) -> Iterator[str]:
    if key.tag != _STRING or not isinstance(key.value, str):
        yield f"line {_line(key)}: write the key {key.value} in quotation marks"
        return
    if key.value in seen:
        yield f"line {_line(key)}: {key.value} is here again, after line {seen[key.value]}"
    seen.setdefault(key.value, _line(key))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1

"""Every key of a stage stands in the example and in the documentation, with default and limits."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from infra.config import CONFIG_DIRECTORY, load_stage, stage_of
from infra.stage import Stage
from infra.yaml_file import values_in

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLE = (CONFIG_DIRECTORY / "example.yaml").read_text(encoding="utf-8").splitlines()
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "multipleOf", "minLength", "maxLength")
SCHEMA = TypeAdapter(Stage).json_schema()
CLASSES: dict[str, dict[str, Any]] = {"Stage": SCHEMA, **SCHEMA["$defs"]}
KEYS = [(kind, key) for kind, schema in CLASSES.items() for key in schema["properties"]]


def limits_of(schema: dict[str, Any]) -> Iterator[str]:
    """Whatever bounds one value, or what is in it; not what another class bounds."""
    for name, value in schema.items():
        # That a text is not empty need not be said.
        if name in LIMITS and (name, value) != ("minLength", 1):
            yield f"{value:g}" if value < 1e6 else str(value)
        if name == "enum":
            yield from map(str, value)
        if name in {"items", "additionalProperties"} and isinstance(value, dict):
            yield from limits_of(value)
        if name == "anyOf":
            for alternative in value:
                yield from limits_of(alternative)


def needed(kind: str, key: str) -> bool:
    return key in CLASSES[kind].get("required", [])


def default_of(kind: str, key: str) -> str:
    if needed(kind, key):
        return "required"
    default = CLASSES[kind]["properties"][key].get("default", {})
    return default if isinstance(default, str) else json.dumps(default)


def missing(text: str, wanted: set[str]) -> list[str]:
    """What does not stand in a text as a word of its own."""
    return [word for word in wanted if not re.search(rf"(?<![\w.]){re.escape(word)}(?![\w])", text)]


def wanted_of(kind: str, key: str) -> set[str]:
    return {*limits_of(CLASSES[kind]["properties"][key])}


def test_all_classes_are_found() -> None:
    assert {"Stage", "Number", "AuroraDatabase", "GivenDatabase", "Words"} <= CLASSES.keys()
    assert len(KEYS) > 35


@pytest.mark.parametrize(("kind", "key"), KEYS)
def test_the_page_has_the_key_with_its_default_and_limits(kind: str, key: str) -> None:
    section = PAGE.partition(f"\n## {kind}\n")[2].partition("\n## ")[0]
    (row,) = (line for line in section.splitlines() if line.startswith(f"| `{key}` |"))
    default, limits = row.split("|")[2:4]
    assert default.strip().strip("`") == default_of(kind, key)
    assert missing(limits, wanted_of(kind, key)) == []


@pytest.mark.parametrize(("kind", "key"), KEYS)
def test_the_example_explains_the_key_with_its_default_and_limits(kind: str, key: str) -> None:
    at = next(n for n, line in enumerate(EXAMPLE) if re.match(rf"[ #]*(- )?{key}:", line))
    first = at
    while first and EXAMPLE[first - 1].lstrip().startswith("#"):
        first -= 1
    comment = " ".join(line.strip(" #") for line in EXAMPLE[first:at])
    assert missing(comment, wanted_of(kind, key)) == []
    assert (
        "Required" in comment
        if needed(kind, key)
        else f"Default {default_of(kind, key)}" in comment
    )


def test_no_key_is_documented_that_does_not_exist() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert documented == {key for _, key in KEYS}


def test_the_example_says_what_is_the_default() -> None:
    """So that whoever deletes a line changes nothing."""
    values = values_in(CONFIG_DIRECTORY / "example.yaml")
    needed_of = {kind: set(CLASSES[kind].get("required", [])) for kind in CLASSES}
    numbers = [
        {key: value for key, value in number.items() if key in needed_of["Number"]}
        for number in values["numbers"]
    ]
    bare = {key: value for key, value in values.items() if key in needed_of["Stage"]}
    assert stage_of({**bare, "database": {}, "numbers": numbers}) == load_stage("example")


@pytest.mark.parametrize("stage", ["example", "dev"])
def test_the_stages_that_come_with_it_are_valid(stage: str) -> None:
    assert load_stage(stage).stage == stage

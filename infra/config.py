"""Reads ``infra/config/<stage>.yaml``, and says everything that is wrong in it at once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from infra.stage import HOST_RUNTIME, Stage
from infra.stage_checks import stage_problems
from infra.stage_parts import AuroraDatabase, GivenDatabase, Number
from infra.yaml_file import YamlError, values_in

__all__ = [
    "CONFIG_DIRECTORY",
    "HOST_RUNTIME",
    "AuroraDatabase",
    "ConfigError",
    "GivenDatabase",
    "Number",
    "Stage",
    "load_stage",
    "stage_of",
]

CONFIG_DIRECTORY: Final = Path(__file__).parent / "config"


class ConfigError(ValueError):
    """A stage that cannot be deployed; its message lists every reason."""


def stage_of(values: Mapping[str, Any]) -> Stage:
    """The stage that these values describe, or ``ConfigError`` with everything wrong in them."""
    try:
        # As JSON, because strictness lets only JSON give a list for a tuple.
        stage = TypeAdapter(Stage).validate_json(json.dumps(values))
    except ValidationError as error:
        problems = [
            ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"])))
            for problem in error.errors()
        ]
        raise ConfigError("\n".join(problems)) from None
    if problems := list(stage_problems(stage)):
        raise ConfigError("\n".join(problems))
    return stage


def load_stage(
    name: str,
    *,
    cloud_api_url: str | None = None,
    database_url: str | None = None,
    directory: Path = CONFIG_DIRECTORY,
) -> Stage:
    """The stage in ``<directory>/<name>.yaml``.

    The two addresses, where given, replace those of the file: the local run chooses its ports
    when it starts.
    """
    file = directory / f"{name}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in directory.glob("*.yaml")))
        raise ConfigError(f"no stage {name!r}: {directory} has {known}")
    try:
        values = values_in(file)
        if cloud_api_url:
            values["cloud_api_url"] = cloud_api_url
        if database_url:
            values["database"] = {"url": database_url}
        stage = stage_of(values)
    except (ConfigError, YamlError) as error:
        raise ConfigError(f"{file}:\n{error}") from None
    if stage.stage != name:
        raise ConfigError(f"{file}: its stage is {stage.stage!r}, its file says {name!r}")
    return stage

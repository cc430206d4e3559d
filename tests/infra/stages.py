"""The templates of every stage, made once: reading them costs little, making them some seconds."""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from infra.application import new_app, templates_of
from infra.config import CONFIG_DIRECTORY, Stage, load_stage
from tests.infra.example import code_in

STAGES = tuple(sorted(path.stem for path in CONFIG_DIRECTORY.iterdir()))
LOCAL = {
    "cloud_api_url": "http://127.0.0.1:8000/v25.0",
    "database_url": "postgresql://sluice@127.0.0.1/sluice",
}
WATCHING = "SluiceObservability"

Resource = Mapping[str, Any]


@cache
def stage_named(name: str) -> Stage:
    return load_stage(name, **(LOCAL if name == "local" else {}))


def synthesised(stage: Stage) -> dict[str, Any]:
    directory = Path(tempfile.mkdtemp())
    (directory / "code").mkdir()
    app = new_app(str(directory / "cdk"))
    return templates_of(app, stage=stage, code=code_in(directory / "code"))


@cache
def templates_named(name: str) -> dict[str, Any]:
    return synthesised(stage_named(name))


def of_type(templates: Mapping[str, Any], kind: str) -> Iterator[Resource]:
    """The properties of every resource of a kind, over all stacks."""
    for template in templates.values():
        for resource in template["Resources"].values():
            if resource["Type"] == kind:
                yield resource["Properties"]

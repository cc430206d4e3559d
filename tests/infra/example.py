"""The example stage, synthesised as it would be deployed, but for its code."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.node import provide_node

# The CDK runs in Node, which must be found before it is imported.
provide_node()

from infra.application import new_app, templates_of  # noqa: E402
from infra.bundling import Code  # noqa: E402
from infra.config import load_stage  # noqa: E402
from sluice.settings import FUNCTION_VARIABLES  # noqa: E402


@dataclass(frozen=True)
class Example:
    """What synthesis left."""

    templates: dict[str, dict[str, Any]]
    """By stack, in the order of their deployment."""
    assembly: Path


def code_in(directory: Path) -> Code:
    """Empty folders: templates depend on code by its digest only."""
    folders = {
        name: directory / name for name in (*FUNCTION_VARIABLES, "core", "dependencies", "parquet")
    }
    for folder in folders.values():
        folder.mkdir()
    return Code(
        functions={step: folders[step] for step in FUNCTION_VARIABLES},
        core=folders["core"],
        dependencies=folders["dependencies"],
        parquet=folders["parquet"],
    )


def synthesised(directory: Path) -> Example:
    """Checked by cdk-nag and by our own validators on the way."""
    assembly, code = directory / "cdk", directory / "code"
    code.mkdir()
    app = new_app(str(assembly))
    templates = templates_of(app, stage=load_stage("example"), code=code_in(code))
    return Example(templates, assembly)

"""Functions fit into Lambda with their layers."""

from pathlib import Path

import pytest

from infra.application import new_app, templates_of
from infra.bundling import Code, bundle
from infra.config import load_stage
from infra.sizes import UNZIPPED_BYTES_MARGIN, UNZIPPED_BYTES_MAX, size_problems
from infra.validators import InvalidDeploymentError
from sluice.settings import FUNCTION_VARIABLES

ALLOWED = UNZIPPED_BYTES_MAX - UNZIPPED_BYTES_MARGIN


@pytest.fixture
def code(tmp_path: Path) -> Code:
    """Two functions of a byte each, and layers without anything."""
    folders = {name: tmp_path / name for name in ("send", "export", "core", "others", "parquet")}
    for folder in folders.values():
        folder.mkdir()
    for step in ("send", "export"):
        (folders[step] / "handler.py").write_bytes(b"#")
    return Code(
        functions={step: folders[step] for step in ("send", "export")},
        core=folders["core"],
        dependencies=folders["others"],
        parquet=folders["parquet"],
    )


def fill(folder: Path, size_bytes: int) -> None:
    """A file of that size, which takes no room."""
    with (folder / "package.so").open("wb") as file:
        file.truncate(size_bytes)


def test_what_fits_to_the_last_byte_is_allowed(code: Code) -> None:
    fill(code.parquet, ALLOWED - 1)
    assert list(size_problems(code)) == []


def test_a_layer_counts_for_the_functions_that_have_it(code: Code) -> None:
    fill(code.parquet, ALLOWED)
    (problem,) = size_problems(code)
    assert problem.startswith("export: 200 MiB")


def test_a_common_layer_counts_for_every_function(code: Code) -> None:
    fill(code.dependencies, ALLOWED)
    assert len(list(size_problems(code))) == 2


def test_the_packages_of_this_machine_fit() -> None:
    layers = {layer: bundle(layer, "host") for layer in ("dependencies", "parquet")}
    root = Path(__file__).parents[2]
    folder = root / "functions" / "export"
    code = Code(functions={"export": folder}, core=root / "layers" / "core", **layers)
    assert list(size_problems(code)) == []


def test_a_stage_whose_code_is_too_large_is_not_deployed(code: Code, tmp_path: Path) -> None:
    app = new_app(str(tmp_path / "cdk"))
    stage = load_stage("example")
    every = dict.fromkeys(FUNCTION_VARIABLES, code.functions["send"])
    large = Code(
        functions=every, core=code.core, dependencies=code.dependencies, parquet=code.parquet
    )
    fill(code.parquet, ALLOWED)
    with pytest.raises(InvalidDeploymentError, match="export: 200 MiB"):
        templates_of(app, stage=stage, code=large)

"""The templates of the local stage, made by the same ``app.py`` that makes those of AWS."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[1]
STAGE_FILE: Final = ROOT / "infra" / "config" / "local.yaml"
SOURCES: Final = ("app.py", "cdk.json", "infra", "functions", "layers")


class SynthesisError(RuntimeError):
    """``app.py`` refused; the message is what it said."""


def stage_of(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The local stage, with some of its settings changed."""
    return {**yaml.safe_load(STAGE_FILE.read_text(encoding="utf-8")), **changes}


def synthesise(
    *,
    output_directory: Path,
    cloud_api_url: str,
    database_url: str,
    stage: Mapping[str, Any] | None = None,
    root: Path = ROOT,
) -> Path:
    """The directory of the templates and assets; made again only where something has changed.

    ``stage`` changes settings of the local stage.
    """
    config = output_directory.parent / "config"
    variables = {
        "SLUICE_CONFIG_DIRECTORY": str(config),
        "SLUICE_STAGE": "local",
        "SLUICE_CLOUD_API_URL": cloud_api_url,
        "SLUICE_DATABASE_URL": database_url,
        "CDK_OUTDIR": str(output_directory),
    }
    settings = yaml.safe_dump(stage_of(stage or {}))
    digest = _digest(root, json.dumps([variables, settings, sys.version]))
    mark = output_directory / "made-of.sha256"
    if mark.exists() and mark.read_text(encoding="utf-8") == digest:
        return output_directory
    mark.unlink(missing_ok=True)
    config.mkdir(parents=True, exist_ok=True)
    (config / STAGE_FILE.name).write_text(settings, encoding="utf-8")
    made = subprocess.run(
        [sys.executable, root / "app.py"],
        cwd=root,
        env={**_own_environment(), **variables, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise SynthesisError(f"{made.stdout}{made.stderr}")
    mark.write_text(digest, encoding="utf-8")
    return output_directory


def _own_environment() -> dict[str, str]:
    # Whatever account this shell is signed in to, the local stage is not of it.
    foreign = ("AWS_", "CDK_", "SLUICE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def _digest(root: Path, more: str) -> str:
    digest = hashlib.sha256(more.encode())
    for file in _sources(root):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    for source in SOURCES:
        path = root / source
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file() and "__pycache__" not in file.parts)

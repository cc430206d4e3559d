"""What functions are made of: a folder a step, and layers, built with pip and no Docker."""

import hashlib
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.stage import HOST_RUNTIME

ROOT: Final = Path(__file__).parents[1]
BUILD_DIRECTORY: Final = ROOT / "build"
LAYERS: Final = ROOT / "layers"
CORE: Final = LAYERS / "core"
EXCLUDED: Final = ["**/__pycache__", "**/*.pyc", "**/*.egg-info", "**/.DS_Store"]
"""Left out of every asset, so that running the tests does not change what is deployed."""

UNUSED_AT_RUN: Final = (
    "phonenumbers/geodata",  # names of places and carriers: three quarters of the layer
    "phonenumbers/carrierdata",
    "bin",
)


@dataclass(frozen=True, kw_only=True)
class Code:
    """Where the code to deploy stands: a folder for each step, and the layers."""

    functions: Mapping[str, Path]
    core: Path
    dependencies: Path
    """Of every function."""
    parquet: Path
    """Of ``export`` alone."""


def function_folders(steps: Mapping[str, object], *, root: Path = ROOT) -> dict[str, Path]:
    """The folder of each step's handler."""
    return {step: root / "functions" / step for step in steps}


def bundle(layer: str, runtime: str, *, build_directory: Path = BUILD_DIRECTORY) -> Path:
    """A layer of packages for ``python3.x`` on arm64, or for this interpreter (``host``).

    Built once for each platform and list of requirements. Raises ``CalledProcessError`` with
    pip's words on the terminal when a wheel is missing: nothing is ever compiled.
    """
    requirements = LAYERS / layer / "requirements.txt"
    target = build_directory / f"{layer}-{_platform(runtime)}-{_digest(requirements)}"
    if target.is_dir():
        return target
    partial = build_directory / f".{target.name}"
    shutil.rmtree(partial, ignore_errors=True)
    _install(requirements, runtime, partial / "python")
    _strip(partial / "python")
    partial.rename(target)
    return target


def runtime_of_host() -> str:
    """The Lambda name of this interpreter, e.g. ``python3.13``."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def _platform(runtime: str) -> str:
    if runtime == HOST_RUNTIME:
        return f"{runtime_of_host()}-{platform.system().lower()}-{platform.machine()}"
    return f"{runtime}-arm64"


def _digest(requirements: Path) -> str:
    content = requirements.read_bytes() + repr(UNUSED_AT_RUN).encode()
    return hashlib.sha256(content).hexdigest()[:12]


def _install(requirements: Path, runtime: str, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-compile", "--only-binary=:all:", "--requirement", str(requirements)]
    command += ["--target", str(target)]
    if runtime != HOST_RUNTIME:
        # psycopg's wheels carry the newer tag only.
        command += ["--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_28_aarch64"]
        command += ["--implementation", "cp", "--python-version", runtime.removeprefix("python")]
    subprocess.run(command, check=True)  # noqa: S603 - our own interpreter


def _strip(target: Path) -> None:
    for unused in UNUSED_AT_RUN:
        shutil.rmtree(target / unused, ignore_errors=True)
    for cache in sorted(target.rglob("__pycache__")):
        shutil.rmtree(cache)

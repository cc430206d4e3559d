"""What functions are made of: a folder a step, and layers, built with pip and no Docker.

All of it ships with its bytecode. Lambda's disk is read-only, so what is not compiled here is
compiled again at every cold start, which takes longer than everything else of it.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from infra.stage import HOST_RUNTIME
from sluice.settings import FUNCTION_VARIABLES

ROOT: Final = Path(__file__).parents[1]
BUILD_DIRECTORY: Final = ROOT / "build"
LAYERS: Final = ROOT / "layers"
CORE: Final = LAYERS / "core"
EXCLUDED: Final = ["**/*.egg-info", "**/.DS_Store"]
"""Left out of every asset."""

CACHE: Final = "__pycache__"

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


def code_of(runtime: str, *, root: Path = ROOT) -> Code:
    """Everything as it ships for a runtime."""
    return Code(
        functions={step: staged(root / "functions" / step, runtime) for step in FUNCTION_VARIABLES},
        core=staged(CORE, runtime),
        dependencies=bundle("dependencies", runtime),
        parquet=bundle("parquet", runtime),
    )


def bundle(layer: str, runtime: str, *, build_directory: Path = BUILD_DIRECTORY) -> Path:
    """A layer of packages for ``python3.x`` on arm64, or for this interpreter (``host``).

    Built once for each platform and list of requirements. Raises ``CalledProcessError`` with
    pip's words on the terminal when a wheel is missing: no extension is ever compiled.
    """
    requirements = LAYERS / layer / "requirements.txt"
    content = requirements.read_bytes() + repr(UNUSED_AT_RUN).encode()
    target = _target(build_directory, layer, runtime, content)

    def make(folder: Path) -> None:
        _install(requirements, runtime, folder / "python")
        _strip(folder / "python")

    return _made(target, runtime, make)


def staged(folder: Path, runtime: str, *, build_directory: Path = BUILD_DIRECTORY) -> Path:
    """A copy of code of ours as it ships, whatever running the tests left beside it."""
    files = sorted(
        file for file in folder.rglob("*") if file.is_file() and file.parent.name != CACHE
    )
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    target = _target(build_directory, folder.name, runtime, digest.digest())

    def make(copy: Path) -> None:
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(CACHE), dirs_exist_ok=True)

    return _made(target, runtime, make)


@cache
def compiler_of(runtime: str) -> str | None:
    """The interpreter of this machine that makes a runtime's bytecode; None: there is none."""
    if runtime in (HOST_RUNTIME, runtime_of_host()):
        return sys.executable
    found = shutil.which(runtime)
    if found is None:
        return None
    asked = subprocess.run(  # noqa: S603 - an interpreter by its name
        [found, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    # A shim may stand there for a version that is not installed.
    return found if asked.stdout.strip() == runtime else None


def runtime_of_host() -> str:
    """The Lambda name of this interpreter, e.g. ``python3.13``."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def _platform(runtime: str) -> str:
    if runtime == HOST_RUNTIME:
        return f"{runtime_of_host()}-{platform.system().lower()}-{platform.machine()}"
    return f"{runtime}-arm64"


def _target(build_directory: Path, name: str, runtime: str, content: bytes) -> Path:
    kind = b"bytecode" if compiler_of(runtime) else b"source"
    digest = hashlib.sha256(content + kind).hexdigest()[:12]
    return build_directory / f"{name}-{_platform(runtime)}-{digest}"


def _made(target: Path, runtime: str, make: Callable[[Path], None]) -> Path:
    """The folder, made whole or not at all, also where two make it at once."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as directory:
        partial = Path(directory) / target.name
        partial.mkdir()
        make(partial)
        _compile(partial, runtime)
        with suppress(OSError):  # somebody else was faster
            partial.rename(target)
    assert target.is_dir()
    return target


def _compile(folder: Path, runtime: str) -> None:
    compiler = compiler_of(runtime)
    if compiler is None:
        return
    # Unchecked: nothing of an asset has a time that means anything.
    command = [compiler, "-m", "compileall", "-q", "-j", "0", "-s", str(folder)]
    command += ["--invalidation-mode", "unchecked-hash", str(folder)]
    subprocess.run(command, check=True)  # noqa: S603 - our own interpreter


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
    for cached in sorted(target.rglob(CACHE)):
        shutil.rmtree(cached)

"""How large functions are with their layers, which Lambda limits and no template tells."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from infra.bundling import Code

UNZIPPED_BYTES_MAX: Final = 250 * 1024 * 1024
"""Of a function and all its layers (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""
UNZIPPED_BYTES_MARGIN: Final = 50 * 1024 * 1024
"""Kept free, so that no new version of a package stops a deployment on the day it is needed."""
LAYERS_OF_ITS_OWN: Final = {"export": ("parquet",)}
"""Which functions have which layers beside those of every function."""


def size_problems(code: Code) -> Iterator[str]:
    """Functions that come too near to what Lambda takes."""
    common = _bytes_in(code.core) + _bytes_in(code.dependencies)
    for step, folder in code.functions.items():
        own = sum(_bytes_in(getattr(code, layer)) for layer in LAYERS_OF_ITS_OWN.get(step, ()))
        size_bytes = _bytes_in(folder) + common + own
        if size_bytes > UNZIPPED_BYTES_MAX - UNZIPPED_BYTES_MARGIN:
            megabytes = size_bytes / 1024 / 1024
            yield f"{step}: {megabytes:.0f} MiB with its layers, of 250 that Lambda takes"


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

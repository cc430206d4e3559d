"""A folder for files that are on their way."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Final

_PREFIX: Final = "sluice-work-"


@contextmanager
def workplace() -> Iterator[Path]:
    """Yield an empty folder of this process, which is gone afterwards.

    What a process that was killed left behind goes first: Lambda keeps ``/tmp`` when it starts a
    function that timed out again.
    """
    above = Path(gettempdir())
    own = above / f"{_PREFIX}{os.getpid()}"
    for left in above.glob(f"{_PREFIX}*"):
        if left == own or not _runs(left.name.removeprefix(_PREFIX)):
            shutil.rmtree(left, ignore_errors=True)
    own.mkdir(mode=0o700)
    try:
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _runs(process_id: str) -> bool:
    try:
        os.kill(int(process_id), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""Directories of a run, which the next run removes if this one could not."""

import fcntl
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

PREFIX: Final = "sluice-scratch-"
LOCK: Final = "lock"


@dataclass(frozen=True)
class Scratch:
    """A directory that others may enter, ours as long as its lock is held."""

    path: Path
    lock: IO[bytes]

    @classmethod
    def make(cls) -> Self:
        """Make a new one; the lock goes when this process does, however it ends."""
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        path.chmod(0o755)
        lock = (path / LOCK).open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(path, lock)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.lock.close()


def sweep() -> list[Path]:
    """Remove what runs that were killed have left, and return it."""
    swept = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            with (path / LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
                swept.append(path)
        except OSError:
            continue  # somebody's who is still at work
    return swept

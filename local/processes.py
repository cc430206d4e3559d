"""Child processes: started in a session of their own, waited for, and ended by their ids."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from local.scratch import Scratch

READY_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 10.0
POLL_SECONDS: Final = 0.05
PR_SET_PDEATHSIG: Final = 1
LOG_TAIL_CHARACTERS: Final = 3_000


class ProcessError(RuntimeError):
    """A child that did not start; the message ends with the end of its log."""


@dataclass(frozen=True)
class Process:
    """A running child; its id is also that of its session and its group."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    scratch: Path | None = None
    """A directory of its own, removed when it ends."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.popen.poll() is None

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL_CHARACTERS:]


class Processes:
    """The children of one run; leaving the context ends them, the last started first."""

    def __init__(self, run_directory: Path) -> None:
        """Logs go to ``<run_directory>/logs/<name>.log``."""
        self._logs = run_directory / "logs"
        self._running: list[Process] = []
        self._scratches: list[Scratch] = []

    def __enter__(self) -> Self:
        """Nothing starts by itself."""
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every child, whatever happened."""
        self.stop_all()

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        ready: Callable[[], bool],
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
        scratch: Path | None = None,
    ) -> Process:
        """Start a child and return when ``ready()``; raise ``ProcessError`` if it never is.

        ``user`` is the system user to run as, for a program that refuses to run as root;
        ``scratch`` is a directory that goes when the child does.
        """
        log = self._logs / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(
                command,
                env=dict(environment) if environment is not None else None,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - one system call, no locks
                user=user,
                extra_groups=[] if user else None,
            )
        process = Process(name, popen, log, scratch)
        self._running.append(process)
        self._wait(process, ready)
        return process

    def stop(self, process: Process) -> None:
        """End a child and everything it started: politely, then not."""
        self._running.remove(process)
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.popen.wait(STOP_SECONDS_MAX)
        # Its children may have outlived it.
        deadline = time.monotonic() + STOP_SECONDS_MAX
        while _signal_group(process, signal.SIGKILL) and time.monotonic() < deadline:
            process.popen.poll()
            time.sleep(POLL_SECONDS)
        if process.scratch:
            shutil.rmtree(process.scratch, ignore_errors=True)

    def kill(self, process: Process) -> None:
        """End a child as a crash would; what it wrote stays."""
        self._running.remove(process)
        _signal_group(process, signal.SIGKILL)
        process.popen.wait()

    def stop_all(self) -> None:
        """End every child, the last started first, and remove what was theirs."""
        for process in reversed(self._running.copy()):
            self.stop(process)
        for scratch in self._scratches:
            scratch.remove()

    def remove_at_end(self, scratch: Scratch) -> None:
        """Remove a directory once every child has ended."""
        self._scratches.append(scratch)

    def _wait(self, process: Process, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while process.alive and time.monotonic() < deadline:
            if ready():
                return
            time.sleep(POLL_SECONDS)
        why = "is not ready" if process.alive else f"ended with {process.popen.returncode}"
        self.stop(process)
        raise ProcessError(f"{process.name} {why}:\n{process.tail()}")


def _end_with_parent() -> None:
    """Let the kernel end a child whose parent was killed and could not; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """Whether something listens on a port of the loopback interface."""
    with socket.socket() as client:
        client.settimeout(1.0)
        return client.connect_ex(("127.0.0.1", port)) == 0


def clean_environment(**variables: str) -> dict[str, str]:
    """PATH and the language of this process, and these variables: nothing of AWS leaks in."""
    kept = ("PATH", "LANG", "LC_ALL")
    return {**{name: os.environ[name] for name in kept if name in os.environ}, **variables}


def _signal_group(process: Process, number: signal.Signals) -> bool:
    """Whether there was still somebody to signal."""
    try:
        os.killpg(process.popen.pid, number)
    except ProcessLookupError:
        return False
    return True

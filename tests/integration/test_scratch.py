"""A run that was killed leaves nothing that the next one does not remove."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local.scratch import Scratch, sweep

PARENT = """
import sys, time
from pathlib import Path
from local.processes import Processes
from local.scratch import Scratch
scratch = Scratch.make()
with Processes(scratch.path) as processes:
    child = processes.start("child", [sys.executable, "-c", "import time; time.sleep(60)"],
                            ready=lambda: True)
    print(scratch.path, child.popen.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _own_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def alive(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def test_what_is_in_use_is_not_swept():
    scratch = Scratch.make()

    assert sweep() == []
    assert scratch.path.exists()
    scratch.remove()
    assert not scratch.path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal is Linux's")
def test_a_killed_run_takes_its_children_along_and_the_next_one_sweeps_up():
    run = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    path, pid = run.stdout.readline().split()
    assert alive(int(pid))

    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()

    deadline = time.monotonic() + 10
    while alive(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(int(pid))
    assert sweep() == [Path(path)]
    assert not Path(path).exists()

"""Child processes of the local run, with real children."""

import sys
from pathlib import Path

import pytest

from local.postgres import start_postgres
from local.processes import ProcessError, Processes, free_port, listens

PARENT = (
    "import subprocess, sys;"
    "subprocess.run([sys.executable, '-m', 'http.server', sys.argv[1], '--bind', '127.0.0.1'])"
)


def test_a_child_that_ends_at_once_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes, pytest.raises(ProcessError, match="no such luck"):
        processes.start(
            "unlucky", [sys.executable, "-c", "raise SystemExit('no such luck')"], ready=bool
        )


def test_leaving_ends_the_children_of_children(tmp_path: Path) -> None:
    port = free_port()
    with Processes(tmp_path) as processes:
        command = [sys.executable, "-c", PARENT, str(port)]
        processes.start("parent", command, ready=lambda: listens(port))
    assert not listens(port)


def test_a_free_port_is_one_that_nobody_listens_on() -> None:
    assert not listens(free_port())


def test_postgres_keeps_its_data_over_a_restart(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    with Processes(tmp_path) as processes:
        server = start_postgres(processes, run_directory=tmp_path)
        server.create_database("kept")
    with Processes(tmp_path) as processes:
        server = start_postgres(processes, run_directory=tmp_path)
        assert server.has_database("kept")
        assert server.has_database("sluice")

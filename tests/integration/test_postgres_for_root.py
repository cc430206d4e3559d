"""Postgres starts wherever a checkout lies, also for root in a directory that nobody may enter."""

import os
import stat
from pathlib import Path

import psycopg
import pytest

from local.postgres import start_postgres
from local.processes import Processes


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must become somebody else")
def test_root_starts_a_server_from_a_directory_that_is_closed_to_others(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    with Processes(closed) as processes:
        server = start_postgres(processes, run_directory=closed)
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            directory = Path(connection.execute("SHOW data_directory").fetchone()[0])
        assert closed not in directory.parents

    assert not directory.exists()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700

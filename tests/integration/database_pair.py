"""A Postgres with a standby, behind one name: what a failover and a pause look like to a client."""

import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from local.postgres import Postgres, _serve, _user
from local.processes import Processes, clean_environment, free_port


class Name:
    """A port that stays, whatever stands behind it, as a cluster's endpoint does.

    ``target`` is the port of who answers; None: connections are taken and nothing is said, as by
    a database that is being woken. They are passed on when there is a target again.
    """

    def __init__(self, target: int | None) -> None:
        self.target = target
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"postgresql://sluice@127.0.0.1:{self.port}/sluice"

    def cut(self) -> None:
        """End every connection, as a server that dies does."""
        for one in self._open:
            _end(one)
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        while self.target is None and client.fileno() >= 0:
            time.sleep(0.02)
        try:
            server = socket.create_connection(("127.0.0.1", self.target or 1))
        except OSError:
            _end(client)
            return
        self._open.append(server)
        threading.Thread(target=_pump, args=(client, server), daemon=True).start()
        _pump(server, client)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while part := source.recv(65536):
            sink.sendall(part)
    except OSError:
        pass
    _end(source)
    _end(sink)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@dataclass
class Pair:
    """A writer and its standby, which loses nothing: each commit waits for it."""

    processes: Processes
    writer: Postgres
    standby: Postgres
    name: Name

    @classmethod
    def start(cls, processes: Processes, writer: Postgres, directory: Path) -> "Pair":
        data = directory / "standby" / "data"
        data.parent.mkdir(parents=True)
        if _user():
            shutil.chown(data.parent, _user())
        command = [
            writer.programs / "bin" / "pg_basebackup", "-h", "127.0.0.1", "-U", "sluice",
            "-p", str(writer.port), "-D", data, "-R", "-X", "stream", "--checkpoint=fast",
        ]  # fmt: skip
        subprocess.run(command, check=True, env=clean_environment(), user=_user(), extra_groups=[])
        port = free_port()
        standby = Postgres(
            _serve(processes, writer.programs, data, port), port, writer.programs, data
        )
        pair = cls(processes, writer, standby, Name(writer.port))
        pair._tell_writer("ALTER SYSTEM SET synchronous_standby_names = '*'")
        pair._await(writer, "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")
        return pair

    def kill_writer(self) -> None:
        """The writer dies, and every connection with it; the name still says where it was."""
        self.processes.kill(self.writer.process)
        self.name.cut()

    def demote_writer(self) -> None:
        """The writer goes on answering, and only reads."""
        self._tell_writer("ALTER SYSTEM SET synchronous_standby_names = ''")
        self._tell_writer("ALTER SYSTEM SET default_transaction_read_only = on")

    def promote_standby(self) -> None:
        """The standby becomes the writer, and the name says so to who connects from now on."""
        with psycopg.connect(self.standby.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")
        self.name.target = self.standby.port

    def _tell_writer(self, statement: str) -> None:
        with psycopg.connect(self.writer.url, autocommit=True) as connection:
            connection.execute(statement.encode())
            connection.execute("SELECT pg_reload_conf()")

    def _await(self, server: Postgres, question: str) -> None:
        deadline = time.monotonic() + 20
        with psycopg.connect(server.url, autocommit=True) as connection:
            while not connection.execute(question.encode()).fetchall():
                assert time.monotonic() < deadline, question
                time.sleep(0.05)

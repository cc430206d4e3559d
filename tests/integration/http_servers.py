"""Small HTTP servers that misbehave on purpose, on the loopback interface."""

import json
import socket
import threading
import time
from collections.abc import Callable

ACCEPTED = {"messages": [{"id": "wamid.A", "message_status": "accepted"}]}


def answer(body: object = ACCEPTED, status: int = 200, *headers: str) -> bytes:
    """An HTTP answer as its bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + content


class Server:
    """Answers every request with ``reply(request, number)``: bytes, or None to hang up.

    ``requests`` are the raw requests; ``connections`` counts those that were ever opened and
    ``open_max`` those that were open at once.
    """

    def __init__(self, reply: Callable[[bytes, int], bytes | None]) -> None:
        self.reply = reply
        self.requests: list[bytes] = []
        self.connections = self.open = self.open_max = 0
        self.idle_seconds = 30.0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v25.0"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        # A thread in accept is only woken by a shutdown.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.idle_seconds = 0.0
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            self.open += 1
            self.open_max = max(self.open_max, self.open)
        try:
            with connection:
                while request := self._request(connection):
                    with self._lock:
                        self.requests.append(request)
                        number = len(self.requests)
                    reply = self.reply(request, number)
                    if reply is None:
                        return
                    connection.sendall(reply)
                    if b"Connection: close" in reply:
                        return
        except OSError:
            pass
        finally:
            with self._lock:
                self.open -= 1

    def _request(self, connection: socket.socket) -> bytes:
        received, idle_since = b"", time.monotonic()
        connection.settimeout(0.02)
        while time.monotonic() - idle_since < self.idle_seconds:
            try:
                part = connection.recv(65536)
            except TimeoutError:
                continue
            received += part
            head, blank, body = received.partition(b"\r\n\r\n")
            if not part or (blank and len(body) >= _length(head)):
                return received if part else b""
        return b""


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0

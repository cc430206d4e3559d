"""The largest webhooks of all kinds, one after the other, in a process of their own.

Each prints a line: what was answered, how many pieces were queued, the seconds of the processor,
and the most memory that the process has had until then.
"""

import hashlib
import hmac
import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from functions.webhook.handler import handle
from sluice.adapters.queues import Queue, WebhookOutbox
from sluice.domain.limits import WEBHOOK_BODY_BYTES_MAX

SECRET = "current-app-secret"
CHANGES = '{"entry":[{"id":"1","changes":['
STATUSES = CHANGES + '{"field":"messages","value":{"statuses":['
STATUS = '{"id":"wamid.A","status":"sent","timestamp":"1796126400"}'
LISTS = {str(key): [1, 2] for key in range(150_000)}


def megabytes_max() -> int:
    """The most memory of this process. What getrusage tells began with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found, "Linux tells it"
    return int(found[1]) // 1024


def full(piece: str, before: str = '{"entry":[', after: str = "]}") -> str:
    """As many pieces as the largest webhook has."""
    room = WEBHOOK_BODY_BYTES_MAX - len(before) - len(after)
    return before + ",".join([piece] * (room // (len(piece) + 1))) + after


BODIES = {
    "real statuses": full(STATUS, STATUSES, "]}}]}]}"),
    "one long text": json.dumps({"entry": [{"changes": [{"value": "é" * 500_000}]}]}),
    "a value of many lists": json.dumps({"entry": [{"changes": [{"field": "x", "value": LISTS}]}]}),
    "changes without anything": full('{"value":{}}', CHANGES, "]}]}"),
    "changes that are nothing": full("{}", CHANGES, "]}]}"),
    "entries that are nothing": full("{}"),
    "statuses that are nothing": full("1", STATUSES, "]}}]}]}"),
}


def main() -> None:
    """Post each of them."""
    for name, body in BODIES.items():
        taken: list[str] = []

        def take(*, Entries: list[dict[str, Any]], taken: list[str] = taken, **_: str) -> Any:  # noqa: N803
            taken += [entry["Id"] for entry in Entries]
            return {}

        queue = Queue(SimpleNamespace(send_message_batch=take), url="q")
        counts: dict[str, float] = {}
        telemetry: Any = SimpleNamespace(
            report=lambda *_, counts, into=counts, **__: into.update(counts)
        )
        signature = hmac.new(SECRET.encode(), body.encode(), hashlib.sha256).hexdigest()
        event = {
            "requestContext": {"http": {"method": "POST"}},
            "headers": {"x-hub-signature-256": f"sha256={signature}"},
            "body": body,
        }
        began = time.process_time()
        answer = handle(
            event,
            secrets=lambda _: ([SECRET], "t"),
            outbox=WebhookOutbox(statuses=queue, signals=queue),
            telemetry=telemetry,
        )
        print(json.dumps({
            "name": name,
            "code": answer["statusCode"],
            "queued": counts["StatusesReceived"] + counts["SignalsReceived"],
            "messages": len(taken),
            "seconds": round(time.process_time() - began, 3),
            "megabytes": megabytes_max(),
        }))  # fmt: skip


if __name__ == "__main__":
    main()

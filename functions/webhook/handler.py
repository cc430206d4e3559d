"""Webhook: Meta's door. Verify, split, queue, answer."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sluice import metrics, wiring
from sluice.adapters.queues import WebhookOutbox
from sluice.adapters.telemetry import Telemetry
from sluice.steps.webhook import Answer, challenge, receive

OK = 200
Secrets = Callable[[bool], tuple[Sequence[str], str]]


def handle(
    event: Mapping[str, Any],
    *,
    secrets: Secrets,
    outbox: WebhookOutbox,
    telemetry: Telemetry,
) -> dict[str, Any]:
    """Answer a GET with the challenge and a POST with what became of it."""
    method = event["requestContext"]["http"]["method"]
    if method == "GET":
        answer = challenge(event.get("queryStringParameters") or {}, secrets=secrets)
    else:
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        answer = receive(
            _raw(event),
            signature=headers.get("x-hub-signature-256"),
            secrets=secrets,
            outbox=outbox,
        )
    _report(method, answer, telemetry)
    return {
        "statusCode": answer.status_code,
        "headers": {"content-type": "text/plain; charset=utf-8"},
        "body": answer.body,
    }


def _raw(event: Mapping[str, Any]) -> bytes:
    """Return the body's bytes as Meta signed them."""
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _report(method: str, answer: Answer, telemetry: Telemetry) -> None:
    telemetry.report(
        "webhook",
        counts={
            metrics.STATUSES_RECEIVED.name: answer.statuses,
            metrics.SIGNALS_RECEIVED.name: answer.signals,
            metrics.WEBHOOKS_REFUSED.name: int(answer.status_code != OK),
        },
        method=method,
        status_code=answer.status_code,
    )


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("webhook")
    wiring.telemetry().begin(context)
    return handle(
        event,
        secrets=wiring.webhook_secrets(),
        outbox=wiring.webhook_outbox(),
        telemetry=wiring.telemetry(),
    )

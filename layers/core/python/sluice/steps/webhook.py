"""Webhook: verify Meta's signature, split what it brings, answer 200 when the queues have it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sluice.domain.limits import SQS_MESSAGE_BYTES_MAX, WEBHOOK_BODY_BYTES_MAX
from sluice.domain.packing import pack, pack_signals, to_json
from sluice.domain.webhook import parse, verify_challenge, verify_signature


class Outbox(Protocol):
    """The two queues behind the webhook; each call takes everything or raises."""

    @property
    def status_groups(self) -> int:
        """In how many groups the statuses of one webhook are told apart."""

    def put_statuses(self, messages: Sequence[tuple[int, str]]) -> None:
        """Queue (group, body) messages of statuses, in their groups."""

    def put_signals(self, messages: Sequence[str]) -> None:
        """Queue messages of signals."""


Secrets = Callable[[bool], tuple[Sequence[str], str]]
"""``secrets(fresh)`` gives (app secrets, verify token)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What Meta gets, and what there is to count."""

    status_code: int
    body: str = ""
    statuses: int = 0
    signals: int = 0


def challenge(query: Mapping[str, str], *, secrets: Secrets) -> Answer:
    """Answer Meta's verification of the address: 200 with its challenge, or 403."""
    for fresh in (False, True):
        text = verify_challenge(query, secrets(fresh)[1])
        if text is not None:
            return Answer(200, text)
    return Answer(403, "the verify token is not ours")


def receive(body: bytes, *, signature: str | None, secrets: Secrets, outbox: Outbox) -> Answer:
    """Take one webhook. 400: too large or not JSON; 401: not signed by Meta; else 200.

    Raises when a queue did not take everything, so that Meta, which repeats for days whatever is
    not answered by 200, brings it again. What was queued twice then is applied once.
    """
    if len(body) > WEBHOOK_BODY_BYTES_MAX:
        return Answer(400, "larger than any webhook of Meta")
    # A secret that was rotated a moment ago is not in our cache yet.
    if not any(verify_signature(body, signature, secrets(fresh)[0]) for fresh in (False, True)):
        return Answer(401, "the signature is not Meta's")
    parsed = parse(body)
    if parsed is None:
        return Answer(400, "not a JSON object")
    statuses = [
        (group, to_json(message))
        for group, message in pack(parsed.statuses, outbox.status_groups, SQS_MESSAGE_BYTES_MAX)
    ]
    signals = [to_json(message) for message in pack_signals(parsed.signals, SQS_MESSAGE_BYTES_MAX)]
    outbox.put_statuses(statuses)
    outbox.put_signals(signals)
    return Answer(200, statuses=len(parsed.statuses), signals=len(parsed.signals))

"""Mistakes that anybody could make, each in one place: the simulation must see every one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

import psycopg

from functions.status import handler as status_handler
from functions.webhook import handler as webhook_handler
from sluice.adapters.postgres import claims, reconciliations, statuses
from sluice.domain import outcomes, pace, results
from sluice.steps import send, webhook

Plant = Callable[[ExitStack, str], None]


def _sql(module: Any, name: str, right: str, wrong: str) -> Plant:
    """Change a statement."""
    statement = getattr(module, name)
    assert statement.count(right) == 1, f"{name} no longer says: {right}"

    def plant(stack: ExitStack, _database_url: str) -> None:
        stack.enter_context(patch.object(module, name, statement.replace(right, wrong)))

    return plant


def _instead(subject: Any, name: str, wrong: Any) -> Plant:
    def plant(stack: ExitStack, _database_url: str) -> None:
        stack.enter_context(patch.object(subject, name, wrong))

    return plant


def _retry_of_unknown(claimed: Any, outcome: Any, policy: Any, **told: Any) -> Any:
    if isinstance(outcome, outcomes.Unknown):
        outcome = outcomes.Retry(0, "", after_seconds=1.0, base_seconds=1.0, cap_seconds=1.0)
    return _result_of(claimed, outcome, policy, **told)


_result_of = results.result_of


def _answer_first(body: bytes, **ports: Any) -> Any:
    try:
        return _receive(body, **ports)
    except Exception:  # noqa: BLE001 - which is the mistake
        return webhook.Answer(200)


_receive = webhook.receive


def _never_failed(messages: Any, **ports: Any) -> Any:
    try:
        written, _ = _write_split(messages, **ports)
    except Exception:  # noqa: BLE001 - which is the mistake
        return [], {}
    return written, {}


_write_split = status_handler.write_split


def _without_trigger(_stack: ExitStack, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE delivery_shared DISABLE TRIGGER delivery_updated")


PLANTED: Final[dict[str, Plant]] = {
    "the gap comes after the send": _instead(pace.Pace, "due", lambda _self, _last, now: now),
    "a claim does not look at the state": _sql(
        claims,
        "CLAIM",
        "AND (d.state = 'queued' OR (d.state = 'sending' AND d.due_at = %(lease)s))",
        "",
    ),
    "a claim sends for paused campaigns": _sql(
        claims, "CLAIM", "WHEN c.state = 'paused' THEN 'pending'", ""
    ),
    "a claim sends for cancelled campaigns": _sql(
        claims, "CLAIM", "CASE WHEN c.state = 'cancelled' THEN 'cancelled'\n", "CASE\n"
    ),
    "what is unknown is tried again": _instead(send, "result_of", _retry_of_unknown),
    "what a dead sender had is sent again": _sql(
        reconciliations, "DOUBT_STUCK", "state = 'unknown'", "state = 'pending'"
    ),
    "the policy of unknown rows is not asked": _sql(
        reconciliations,
        "SETTLE_UNKNOWN",
        "WHEN NOT %(resend)s THEN 'unknown'",
        "WHEN false THEN 'unknown'",
    ),
    "the latest status wins, not the highest": _sql(
        statuses, "APPLY", "status = GREATEST(d.status, news.status)", "status = news.status"
    ),
    "statuses of an older attempt count": _sql(
        statuses, "APPLY", "WHERE d.attempt <= news.attempt", "WHERE true"
    ),
    "a failure that is told twice is final": _sql(
        statuses,
        "APPLY",
        "WHEN d.status = 'failed' AND d.state IN ('pending', 'queued') THEN 'waits'",
        "",
    ),
    "a webhook is answered before it is queued": _instead(
        webhook_handler, "receive", _answer_first
    ),
    "statuses that could not be written are taken for written": _instead(
        status_handler, "write_split", _never_failed
    ),
    "a change is not counted": _without_trigger,
}


@contextmanager
def planted(name: str, database_url: str) -> Iterator[None]:
    """Make the mistake for as long as the block lasts."""
    with ExitStack() as stack:
        PLANTED[name](stack, database_url)
        yield

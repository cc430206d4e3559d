"""What dies in the middle, on the real system."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from local.cloud_api import ledger
from local.system import System
from sluice.adapters.postgres.connection import Database
from tests.end_to_end.conftest import FIRST, Campaign, people, post_webhook, until


def workers(system: System, step: str) -> list[int]:
    """Process ids of the environments of a function."""
    return system.aws.workers(system.deployment.functions[step])


def server_processes(system: System) -> list[int]:
    """Process ids of Postgres: the server, and a child for each connection."""
    server = system.postgres.process.popen.pid
    found = [server]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text(encoding="utf-8")
        except OSError:
            continue
        if f"\nPPid:\t{server}\n" in text:
            found.append(int(status.parent.name))
    return found


def make_lapsed(database: Database, campaign_id: int, state: str) -> None:
    """Let the time of rows in this state be over, without waiting for it."""
    database.fetch(
        "UPDATE delivery SET due_at = now() WHERE campaign_id = %s AND state = %s::delivery_state",
        (campaign_id, state),
    )


@pytest.mark.parametrize("policy", ["resend", "leave"])
def test_a_sender_killed_in_the_middle_of_a_chunk_loses_and_doubles_nothing(
    system: System, database: Database, policy: str
) -> None:
    first = 10_000 if policy == "resend" else 20_000
    campaign = Campaign(
        system, f"killed-{policy}", people(first, 600), numbers=[FIRST], unknown_policy=policy
    )
    campaign.publish()
    until(lambda: campaign.states().get("done", 0) > 60, seconds=40, what="it is under way")

    victim = workers(system, f"send-{FIRST}-bulk")[0]
    os.kill(victim, signal.SIGKILL)

    # What the victim's chunks hold is queued again when nobody asks for work any more.
    until(
        lambda: not {"pending", "queued"} & set(campaign.states()),
        seconds=120,
        what=f"all other rows are sent: {campaign.states()}",
    )
    make_lapsed(database, campaign.campaign_id(), "sending")
    system.invoke("reconcile", {})
    assert set(campaign.states()) <= {"done", "unknown"}
    doubted = campaign.states().get("unknown", 0)
    # At most what it had claimed and in flight: two seconds of its work.
    assert doubted <= 80
    make_lapsed(database, campaign.campaign_id(), "unknown")
    system.invoke("reconcile", {})

    if policy == "resend":
        campaign.await_states({"done": 600}, seconds=90)
        assert len(campaign.accepted()) == 600
    else:
        # Late statuses still settle what was accepted; the rest stays unknown, and is counted.
        states = campaign.states()
        assert states["done"] + states.get("unknown", 0) == 600
        assert states.get("unknown", 0) <= doubted
    for key, requests in campaign.accepted().items():
        attempts = [request.opaque_id for request in requests]
        assert len(attempts) == len(set(attempts)), f"{key} was sent twice by the same attempt"
    if policy == "leave":
        assert all(len(requests) == 1 for requests in campaign.accepted().values())


def test_without_the_database_nothing_leaves_and_nothing_is_lost(
    system: System, database: Database
) -> None:
    campaign = Campaign(system, "database", people(30_000, 700), numbers=[FIRST])
    campaign.publish()
    until(lambda: campaign.states().get("done", 0) > 60, seconds=40, what="it is under way")
    change = {"field": "told_while_away", "value": {"event": "NEW"}}
    while_away = {"entry": [{"id": "1", "changes": [change]}]}

    stopped = server_processes(system)
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    try:
        # What was claimed before still leaves; then nothing does.
        time.sleep(4.0)
        quiet_from = len(ledger_of(system))
        time.sleep(6.0)
        assert len(ledger_of(system)) == quiet_from
        # Meta is answered all the same: the webhook knows no database.
        assert post_webhook(system, json.dumps(while_away).encode()) == 200
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)

    until(
        lambda: not {"pending", "queued"} & set(campaign.states()),
        seconds=150,
        what=f"everybody is sent to: {campaign.states()}",
    )
    make_lapsed(database, campaign.campaign_id(), "sending")
    system.invoke("reconcile", {})
    states = campaign.states()
    assert states.get("done", 0) + states.get("unknown", 0) == 700
    assert len(campaign.accepted()) >= states["done"]
    assert all(len(requests) == 1 for requests in campaign.accepted().values())
    until(
        lambda: database.fetch("SELECT 1 FROM signal WHERE field = %s", (change["field"],)),
        seconds=60,
        what="what Meta told meanwhile is kept",
    )


def ledger_of(system: System) -> list[object]:
    """Every request so far."""
    return list(ledger.requests(system.api.ledger))

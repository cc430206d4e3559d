"""A number is taken out of service: it gets no more work, and what it has still goes out."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest

from local.cloud_api import ledger
from local.system import System
from sluice.adapters.postgres.connection import Database
from tests.end_to_end.conftest import FIRST, SECOND, Campaign, people, until

PARAMETER = f"/sluice/local/numbers/{FIRST}"


@pytest.fixture
def configure(system: System, database: Database) -> Iterator:
    """Give the first number a state, as a deployment does; it is in force when this returns."""
    parameters = system.aws.client("ssm")

    def configured(state: str) -> None:
        facts = json.loads(parameters.get_parameter(Name=PARAMETER)["Parameter"]["Value"])
        text = json.dumps({**facts, "state": state})
        parameters.put_parameter(Name=PARAMETER, Value=text, Type="String", Overwrite=True)
        # Whoever lives on has the old one for another minute; and each minute one is started.
        for worker in system.aws.workers(system.deployment.functions["dispatch"]):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        query = "SELECT state FROM number WHERE phone_number_id = %s"
        until(
            lambda: database.fetch(query, (FIRST,)) == [(state,)],
            seconds=180,
            what=f"the number is {state}",
        )

    yield configured
    configured("active")


@pytest.mark.timeout(900)
def test_a_draining_number_gets_no_work_and_what_is_in_its_queue_goes_out(
    system: System, configure
) -> None:
    configure("draining")
    alone = Campaign(system, "drained", people(61_000, 5), numbers=[FIRST])
    pool = Campaign(system, "taken-over", people(62_000, 40), numbers=[FIRST, SECOND])
    alone.publish()
    pool.publish()
    (address,) = people(63_000, 1)
    in_its_queue = {
        "id": "to-a-draining-number",
        "phone_number_id": FIRST,
        "lane": "conversation",
        "recipients": [{"address": address}],
        "message": {"type": "text", "text": {"body": "The clinic is open today."}},
    }
    system.publish(in_its_queue, kind="send", phone_number_id=FIRST, lane="conversation")

    pool.await_states({"done": 40}, seconds=100)
    senders = {one.phone_number_id for found in pool.accepted().values() for one in found}
    assert senders == {SECOND}
    until(
        lambda: (
            [
                one.phone_number_id
                for one in ledger.requests(system.api.ledger)
                if one.recipient == address
            ]
            == [FIRST]
        ),
        seconds=20,
        what="what was in its queue went out",
    )
    assert alone.states() == {"pending": 5}

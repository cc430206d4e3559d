"""A database that is put back to what it was in the middle of a campaign, on the real system."""

import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.hold import hold, release
from local.system import System
from tests.end_to_end.conftest import FIRST, Campaign, people, until


def now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat()


@pytest.mark.timeout(900)
def test_a_campaign_whose_database_is_restored_goes_on_and_nobody_is_sent_to_twice(
    system: System, tmp_path: Path
) -> None:
    campaign = Campaign(system, "restored", people(70_000, 700), numbers=[FIRST])
    campaign.publish()
    until(lambda: campaign.states().get("done", 0) > 60, seconds=240, what="it is under way")
    campaign_id = campaign.campaign_id()
    programs, backup = system.postgres.programs / "bin", tmp_path / "backup"
    restored_to = now()
    dump = [programs / "pg_dump", "--format=custom", f"--file={backup}", system.postgres.url]
    subprocess.run(dump, check=True)
    at_backup = len(campaign.accepted())
    until(
        lambda: len(campaign.accepted()) > at_backup + 100, seconds=120, what="it went on after it"
    )

    hold("local", client=system.aws.client)
    time.sleep(5.0)
    held_at = len(campaign.accepted())
    time.sleep(25.0)  # what senders had received is sent
    system.postgres.drop_database("sluice")
    system.postgres.create_database("sluice")
    back = [programs / "pg_restore", f"--dbname={system.postgres.url}", "--exit-on-error", backup]
    subprocess.run(back, check=True)
    told = system.invoke("restore", {"restored_to": restored_to, "upto": now()})
    release("local", client=system.aws.client)
    system.publish(
        {"kind": "command", "action": "resume", "campaign": campaign.name}, kind="command"
    )

    assert held_at >= at_backup + 100
    assert told["finished"]
    assert told["accepted"] >= 100
    assert campaign.name in told["held"]
    until(
        lambda: not {"pending", "queued", "sending"} & set(campaign.states()),
        seconds=240,
        what=f"everybody is sent to: {campaign.states()}",
    )
    assert campaign.campaign_id() == campaign_id
    states = campaign.states()
    assert states["done"] + states.get("unknown", 0) == 700
    assert len(campaign.accepted()) >= states["done"]
    assert all(len(requests) == 1 for requests in campaign.accepted().values())

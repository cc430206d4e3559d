"""The ledger judges the pace: never above the cap, and nearly all of what the lane may use."""

import os
import signal
import time

from local.cloud_api import ledger
from local.scenarios.play import sample_request
from local.system import System
from tests.end_to_end.conftest import SECOND, people, until
from tests.end_to_end.test_faults import workers

PEOPLE = 4_200
LANE_RATE = 76.0
COLD_SECONDS = 3.0
SLOTS = 2
BATCH = 8 * 100


def test_the_rate_is_used_and_never_exceeded_over_cold_starts_and_kills(system: System) -> None:
    addresses = people(40_000, PEOPLE)
    lines = ["address,name,clinic,date", *(f"{one},Ada,City Clinic,Monday" for one in addresses)]
    bucket = system.deployment.audience_bucket
    system.aws.client("s3").put_object(
        Bucket=bucket, Key="rate.csv", Body="\n".join(lines).encode()
    )
    request = sample_request(campaign="rate") | {
        "numbers": [SECOND],
        "audience": {"s3": f"s3://{bucket}/rate.csv"},
        "unknown_policy": "leave",
    }
    # Cold: every environment of the sender begins anew.
    for process in workers(system, f"send-{SECOND}-bulk"):
        os.kill(process, signal.SIGKILL)
    began_at = time.monotonic()
    system.publish(request, kind="campaign")

    def sends() -> list[float]:
        return sorted(
            one.arrived
            for one in ledger.requests(system.api.ledger)
            if one.phone_number_id == SECOND and one.arrived > began_at
        )

    until(lambda: len(sends()) >= PEOPLE - SLOTS * BATCH, seconds=90, what="most of it is sent")
    # From when every slot has started until one may be without a full batch.
    busy = sends()[: PEOPLE - SLOTS * BATCH]
    busy = [at for at in busy if at > busy[0] + COLD_SECONDS]
    use = (len(busy) - 1) / (busy[-1] - busy[0]) / LANE_RATE
    for process in workers(system, f"send-{SECOND}-bulk")[:1]:
        os.kill(process, signal.SIGKILL)
    until(
        lambda: not {"pending", "queued"} & {k for k, v in states(system).items() if v},
        seconds=150,
        what=f"the rest is sent: {states(system)}",
    )

    most, over = ledger.fullest_window(sends(), system.caps[SECOND])
    assert over == 0, f"{most} requests in one second"
    assert use >= 0.95, f"{use:.1%} of the lane's rate"


def states(system: System) -> dict[str, int]:
    """States of the campaign's recipients."""
    found: dict[str, int] = system.report("rate")["states"]
    return found

"""What a message uses of AWS, measured by a local run: ``python -m bench.cost``.

With ``--write`` the profile that ``sluice cost`` counts with is made anew.
"""

import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from bench.harness import NUMBER, Bar, arguments, conclude, say
from bench.rate import OTHER_NUMBER, audience
from cli.cost.model import Choices, cost_of
from cli.cost.prices import read_prices
from cli.cost.profile import PROFILE, Basis, FunctionUse, Profile, profile_of
from infra.config import load_stage
from local.run import AWS_ENVIRONMENT
from local.scenarios.play import sample_request
from local.system import System, running_system
from sluice.settings import FUNCTION_VARIABLES

USD_PER_MILLION_MAX: Final = 5.0
PEOPLE: Final = 1_500
SECONDS_MAX: Final = 1_500.0
QUIET_SECONDS: Final = 5.0
IDLE_SECONDS: Final = 130.0
"""Two starts or three of everything that starts each minute."""
BASES: Final[Mapping[str, Basis]] = {
    "send": "pace",
    **dict.fromkeys(("webhook", "status", "signal"), "message"),
    **dict.fromkeys(("dispatch", "reconcile", "redrive", "erase"), "time"),
}
SIMULATION: Final = {
    "seed": 7,
    # One status a request: the dearest way in which Meta may bring them.
    "statuses_per_post_max": 1,
    "webhooks_in_flight_max": 8,
}
_REPORT: Final = re.compile(r"Billed Duration: ([0-9.]+) ms")


@dataclass
class Used:
    """What a function's log tells of a time."""

    billed_milliseconds: list[float] = field(default_factory=list)
    log_bytes: int = 0


def step_of(function: str) -> str:
    """The step of a function: all lanes of all numbers are ``send``."""
    return "send" if function.startswith("send-") else function


def used(system: System, *, since_milliseconds: int) -> dict[str, Used]:
    """What every step used since then, by the log that Lambda writes."""
    logs, found = system.aws.client("logs"), defaultdict[str, Used](Used)
    for function in system.deployment.functions:
        group = f"/sluice/local/{function}"
        events = _events(logs, group, since_milliseconds)
        one = found[step_of(function)]
        for message in events:
            one.log_bytes += len(message.encode())
            if told := _REPORT.search(message):
                one.billed_milliseconds.append(float(told[1]))
    return found


def _events(logs: Any, group: str, since_milliseconds: int) -> Iterable[str]:
    streams = logs.get_paginator("describe_log_streams").paginate(logGroupName=group)
    for stream in [one["logStreamName"] for page in streams for one in page["logStreams"]]:
        token: dict[str, str] = {}
        while True:
            page = logs.get_log_events(
                logGroupName=group,
                logStreamName=stream,
                startTime=since_milliseconds,
                startFromHead=True,
                **token,
            )
            yield from (event["message"] for event in page["events"])
            if not page["events"] or page["nextForwardToken"] == token.get("nextToken"):
                break
            token = {"nextToken": page["nextForwardToken"]}


def campaign(system: System, *, people: int) -> None:
    """Send to so many people, and return when every status is applied."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "people.csv"
        file.write_bytes(audience(people))
        request = sample_request(campaign="cost")
        request |= {"numbers": [NUMBER, OTHER_NUMBER], "audience": {"s3": system.upload(file)}}
    system.publish(request, kind="campaign")
    deadline, quiet_since = time.monotonic() + SECONDS_MAX, None
    while quiet_since is None or time.monotonic() - quiet_since < QUIET_SECONDS:
        assert time.monotonic() < deadline, "the campaign did not end in time"
        time.sleep(2.0)
        waiting = sum(system.api.ask("pending").values()) + system.waiting("statuses.fifo")
        over = not waiting and system.report("cost").get("state") == "finished"
        quiet_since = (quiet_since or time.monotonic()) if over else None


def measure(*, people: int) -> Profile:
    """Run a campaign, then nothing, and read what was used in each time."""
    with tempfile.TemporaryDirectory(prefix="sluice-cost-") as directory:
        Path(directory).chmod(0o755)
        with running_system(
            run_directory=Path(directory),
            aws_environment=AWS_ENVIRONMENT,
            simulation=SIMULATION,
            say=lambda what: say(f"starting {what}"),
        ) as system:
            say(f"a campaign to {people} people")
            busy_from = int(time.time() * 1_000)
            campaign(system, people=people)
            busy = used(system, since_milliseconds=busy_from)
            say(f"{IDLE_SECONDS:.0f} seconds of nothing")
            # What began before the end belongs to the campaign.
            time.sleep(IDLE_SECONDS / 3)
            idle_from = int(time.time() * 1_000)
            time.sleep(IDLE_SECONDS)
            idle = used(system, since_milliseconds=idle_from)
            requests = sum(system.api.ask("ledger")["requests"][NUMBER].values())
            requests += sum(system.api.ask("ledger")["requests"][OTHER_NUMBER].values())
    return profile_from(busy, idle, people=people, requests=requests)


def profile_from(
    busy: Mapping[str, Used],
    idle: Mapping[str, Used],
    *,
    people: int,
    requests: int,
) -> Profile:
    """The profile that two measured times make."""
    functions = {}
    for step in sorted(FUNCTION_VARIABLES):
        told = (idle if BASES.get(step) == "time" else busy).get(step, Used())
        active = busy.get(step, Used()).billed_milliseconds
        times = told.billed_milliseconds
        functions[step] = FunctionUse(
            basis=BASES.get(step, "request"),
            invocations_per_thousand=round(1_000 * len(active) / people, 3),
            billed_milliseconds=round(undisturbed(times, BASES.get(step, "request")), 1),
            billed_milliseconds_median=round(median(times), 1) if times else 0.0,
            log_bytes=round(told.log_bytes / len(times)) if times else 0,
        )
    webhooks = len(busy["webhook"].billed_milliseconds)
    return Profile(
        measured_on=f"{time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.0f} on "
        f"{os.cpu_count()} cores",
        people=people,
        requests_per_message=round(requests / people, 4),
        webhooks_per_message=round(webhooks / people, 4),
        functions=functions,
    )


def undisturbed(times: Sequence[float], basis: Basis) -> float:
    """The end of the quickest tenth: what other programs on the machine do to it is the rest.

    Of the few runs that a clock starts, the middle one.
    """
    if not times:
        return 0.0
    return median(times) if basis == "time" or len(times) == 1 else quantiles(times, n=10)[0]


def main() -> int:
    """Measure, tell and judge."""
    parser = arguments(__doc__, rows=PEOPLE, rounds=1)
    parser.add_argument("--write", action="store_true", help="make the profile anew")
    told = parser.parse_args()
    profile = measure(people=told.rows)
    for step, use in profile.functions.items():
        say(f"{step}: {json.dumps(asdict(use))}")
    if told.write:
        PROFILE.write_text(json.dumps(asdict(profile), indent=2) + "\n", encoding="utf-8")
        say(f"written: {PROFILE}")
    stage = load_stage("example")
    prices = read_prices().of("us-east-1")
    costs = {
        name: cost_of(stage, prices, profile_of(asdict(profile)), choices).per_million
        for name, choices in {
            "as deployed": Choices.of(stage),
            "leanest": Choices(statuses_queue="standard", webhook_entry="function_url"),
        }.items()
    }
    bars = [
        Bar(
            f"a million messages cost under {USD_PER_MILLION_MAX} USD in us-east-1, {name}",
            usd < USD_PER_MILLION_MAX,
            f"{usd:.2f} USD",
        )
        for name, usd in costs.items()
    ]
    return conclude("cost", {"profile": asdict(profile), "usd_per_million": costs}, bars)


if __name__ == "__main__":
    sys.exit(main())

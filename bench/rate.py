"""How much of a lane's rate the whole system uses, by the ledger: ``python -m bench.rate``."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any, Final

import requests
from rich.progress import Progress, TaskID

from bench.harness import (
    NUMBER,
    TEMPLATE,
    Bar,
    Spread,
    arguments,
    conclude,
    progress,
    ratios,
    say,
)
from local.cloud_api import ledger
from local.run import AWS_ENVIRONMENT
from local.scenarios.play import sample_request
from local.system import ACCESS_TOKEN, API_VERSION, System, running_system
from sluice.domain.addresses import Address
from sluice.domain.delivery import OpaqueId
from sluice.domain.limits import CHUNK_DELIVERIES_MAX
from sluice.domain.templates import message_body, render
from sluice.settings import SLOT_SENDS_PER_SECOND_LENT

OTHER_NUMBER: Final = "106540352242923"
SHARE_MIN: Final = 0.98
THROTTLED_SHARE_MAX: Final = 0.001
POLL_SECONDS: Final = 1.0
SECONDS_MAX_OVER: Final = 120.0
"""A campaign may take so much longer than the lane's rate asks."""
GAPS_MAX: Final = 3
"""A slot that sends nothing for so many gaps is not pacing."""
CPU_FACTOR_MAX: Final = 1.5
BARE_POSTS: Final = 480
BARE_THREADS: Final = 12
TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Lane:
    """What was deployed for the number."""

    slots: int
    slot_sends_per_second: float
    batch_deliveries: int

    @property
    def sends_per_second(self) -> float:
        """Of all slots."""
        return self.slots * self.slot_sends_per_second

    @classmethod
    def of(cls, system: System) -> "Lane":
        """Ask the local AWS."""
        functions = system.aws.client("lambda")
        name = system.deployment.functions[f"send-{NUMBER}-bulk"]
        variables = functions.get_function_configuration(FunctionName=name)["Environment"]
        found = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
        (mapping,) = found
        return cls(
            mapping["ScalingConfig"]["MaximumConcurrency"],
            float(variables["Variables"][SLOT_SENDS_PER_SECOND_LENT]),
            mapping["BatchSize"] * CHUNK_DELIVERIES_MAX,
        )


@dataclass(frozen=True)
class Round:
    """One campaign, as the ledger has it."""

    sends: int
    seconds: float
    """From the first send to the last."""
    first_send_seconds: float
    """From the publication to the first send."""
    busy_seconds: float
    """From the first send until a slot may have run out of work."""
    busy_sends_per_second: float
    share: float
    """Of the lane's rate, while every slot had work."""
    paced_share: float
    """What a slot reaches of its rate within a chunk: the rest is lost between invocations."""
    cap: int
    fullest_second: int
    windows_over: int
    throttled: int
    duplicates: int
    cpu_milliseconds: float | None
    """Of the senders' processes, for each message, started up already."""
    bare_cpu_milliseconds: float


class Senders:
    """The CPU time of the senders' processes, where Linux tells it."""

    def __init__(self) -> None:
        self._ticks: dict[str, int] = {}

    def cpu_seconds(self) -> float | None:
        """Return the sum over all processes that were ever seen; None where there are none."""
        name = f"AWS_LAMBDA_FUNCTION_NAME=sluice-local-send-{NUMBER}-bulk\0".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if name in (process / "environ").read_bytes():
                    self._ticks[process.name] = _ticks(process / "stat")
            except OSError:
                continue
        return sum(self._ticks.values()) / TICKS_PER_SECOND if self._ticks else None


def _ticks(stat: Path) -> int:
    """Of user and system mode. Source: proc(5), fields 14 and 15; the name may have spaces."""
    fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def audience(people: int) -> bytes:
    """People whom nobody else writes to: the simulated API limits pairs too."""
    lines = (
        f"+4915{100_000_000 + place},Person {place},City Clinic,2026-12-07\n"
        for place in range(people)
    )
    return ("address,name,clinic,date\n" + "".join(lines)).encode()


def measure(system: System, lane: Lane, *, people: int, place: int, shown: Progress) -> Round:
    """Publish a campaign, wait for its end, and read the ledger."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / f"people-{place}.csv"
        file.write_bytes(audience(people))
        request = sample_request(campaign=f"rate-{place}")
        request |= {"numbers": [NUMBER], "audience": {"s3": system.upload(file)}}
    before = len(_requests(system))
    published_at = time.time()
    system.publish(request, kind="campaign")
    task = shown.add_task(f"campaign {place}", total=people)
    seconds_max = people / lane.sends_per_second + SECONDS_MAX_OVER
    cpu = _watch(system, str(request["campaign"]), before, seconds_max, (shown, task))
    return _judge(system, lane, _requests(system)[before:], published_at, cpu)


def _requests(system: System) -> list[ledger.Request]:
    return [one for one in ledger.requests(system.api.ledger) if one.phone_number_id == NUMBER]


def _watch(
    system: System, campaign: str, before: int, seconds_max: float, shown: tuple[Progress, TaskID]
) -> float | None:
    """Wait for the end; returns the CPU seconds for each message."""
    senders = Senders()
    samples: list[tuple[int, float]] = []
    display, task = shown
    deadline = time.monotonic() + seconds_max
    while True:
        assert time.monotonic() < deadline, "the campaign did not end in time"
        verdicts = system.api.ask("ledger")["requests"].get(NUMBER, {})
        sends = sum(verdicts.values()) - before
        used = senders.cpu_seconds()
        if sends and used is not None:
            samples.append((sends, used))
        display.update(task, completed=sends)
        # Asking is work too, on the same cores: only when the end is near.
        if sends >= (display.tasks[task].total or 0):
            report = system.report(campaign)
            if report["state"] == "finished":
                break
        time.sleep(POLL_SECONDS)
    if not samples or samples[-1][0] == samples[0][0]:
        return None
    (sends_first, cpu_first), (sends_last, cpu_last) = samples[0], samples[-1]
    return (cpu_last - cpu_first) / (sends_last - sends_first)


def _judge(
    system: System,
    lane: Lane,
    sent: list[ledger.Request],
    published_at: float,
    cpu: float | None,
) -> Round:
    times = sorted(request.arrived for request in sent)
    busy = times[: len(times) - lane.slots * lane.batch_deliveries]
    assert len(busy) > 1, "the audience is larger than what the slots take at once"
    seconds = busy[-1] - busy[0]
    rate = (len(busy) - 1) / seconds
    cap = system.caps[NUMBER]
    fullest, over = ledger.fullest_window(times, cap)
    return Round(
        sends=len(times),
        seconds=round(times[-1] - times[0], 2),
        first_send_seconds=round(min(request.wall for request in sent) - published_at, 2),
        busy_seconds=round(seconds, 2),
        busy_sends_per_second=round(rate, 2),
        share=round(rate / lane.sends_per_second, 4),
        paced_share=round(1 / (lane.slot_sends_per_second * _paced_gap(sent, lane)), 4),
        cap=cap,
        fullest_second=fullest,
        windows_over=over,
        throttled=sum(request.verdict == "throttled" for request in sent),
        duplicates=len(ledger.duplicates(system.api.ledger)),
        cpu_milliseconds=round(1_000 * cpu, 2) if cpu is not None else None,
        bare_cpu_milliseconds=round(1_000 * _bare(system), 2),
    )


def _paced_gap(sent: list[ledger.Request], lane: Lane) -> float:
    """The mean gap between neighbours of the audience, which one slot sends one after the other.

    Where two neighbours are of different chunks, they are far apart or the wrong way round.
    """
    by_seq = {int(request.opaque_id.split(":")[1]): request.arrived for request in sent}
    longest = GAPS_MAX / lane.slot_sends_per_second
    gaps = [by_seq[after] - by_seq[seq] for seq, after in pairwise(sorted(by_seq))]
    return mean(gap for gap in gaps if 0 < gap < longest)


def _bare(system: System) -> float:
    """CPU seconds a message of a program that does nothing but post, by the other number."""
    url = f"{system.api.url}/{API_VERSION}/{OTHER_NUMBER}/messages"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(post_barely, url).result()


def post_barely(url: str) -> float:
    """Post in loops of a ``requests.Session`` each, under the cap by the latency alone."""
    bodies = list(_bodies())
    shares = [bodies[first::BARE_THREADS] for first in range(BARE_THREADS)]
    began = time.process_time()
    with ThreadPoolExecutor(BARE_THREADS) as pool:
        list(pool.map(lambda share: _post(url, share), shares))
    return (time.process_time() - began) / len(bodies)


def _post(url: str, bodies: list[dict[str, Any]]) -> None:
    with requests.Session() as session:
        for body in bodies:
            headers = {"Authorization": f"Bearer {ACCESS_TOKEN}"}
            session.post(url, json=body, headers=headers, timeout=30).json()


def _bodies() -> Iterator[dict[str, Any]]:
    for place in range(BARE_POSTS):
        template = render(TEMPLATE, {"name": f"Person {place}", "clinic": "City Clinic"})
        assert isinstance(template, dict)
        yield message_body(
            address=Address("phone", f"+4915{200_000_000 + place}"),
            opaque_id=OpaqueId(0, place, 1),
            template=template,
        )


def main() -> int:
    """Measure, print and judge."""
    parser = arguments(__doc__, rows=6_000, rounds=1)
    parser.add_argument(
        "--aws-environment",
        type=Path,
        default=AWS_ENVIRONMENT,
        help="the virtual environment that has ministack",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as directory, progress() as shown:
        Path(directory).chmod(0o755)
        task = shown.add_task("starting", total=1)
        with running_system(
            run_directory=Path(directory),
            aws_environment=options.aws_environment,
            simulation={},
            say=lambda what: shown.update(task, description=f"starting {what}"),
        ) as system:
            shown.update(task, description="started", completed=1)
            lane = Lane.of(system)
            rounds = [
                measure(system, lane, people=options.rows, place=place, shown=shown)
                for place in range(1, options.rounds + 1)
            ]
            stalls = ledger.stalls(system.api.ledger)
    return _conclude(lane, rounds, max((seconds for _, seconds in stalls), default=0.0))


def _conclude(lane: Lane, rounds: list[Round], stall_seconds_longest: float) -> int:
    for one in rounds:
        say(json.dumps(asdict(one)))
    share = Spread(tuple(one.share for one in rounds))
    over = sum(one.windows_over for one in rounds)
    fullest = max(one.fullest_second for one in rounds)
    throttled = sum(one.throttled for one in rounds)
    sends = sum(one.sends for one in rounds)
    used = [one.cpu_milliseconds for one in rounds if one.cpu_milliseconds is not None]
    cpu = ratios(used, [one.bare_cpu_milliseconds for one in rounds]) if used else None
    say(f"the lane: {lane.slots} slots, {lane.sends_per_second} sends/s")
    figures = {
        "rows": sends,
        "lane_sends_per_second": lane.sends_per_second,
        "share": share.as_json(),
        "cpu_of_bare": cpu.as_json() if cpu else None,
        "stall_seconds_longest": stall_seconds_longest,
        "rounds": [asdict(one) for one in rounds],
    }
    bars = [
        Bar("98 % of the lane's rate", share.median >= SHARE_MIN, f"{share} of it"),
        Bar("no window over the cap", over == 0, f"{over} over, at most {fullest} in a second"),
        Bar("at most 0.1 % answered 429", throttled <= sends * THROTTLED_SHARE_MAX, f"{throttled}"),
    ]
    if cpu:
        name = "CPU within 1.5 x of a bare requests loop"
        bars.append(Bar(name, cpu.median <= CPU_FACTOR_MAX, f"{cpu} x"))
    return conclude("rate", figures, bars)


if __name__ == "__main__":
    sys.exit(main())

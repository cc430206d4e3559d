"""The live view: what each number sends against its cap, and where the recipients stand."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from local.judge.judgement import Judgement
from local.system import System

BAR_WIDTH: Final = 24
FINAL: Final = ("done", "failed", "cancelled", "expired")
Show = Callable[[Mapping[str, Any], str], None]
"""Takes a campaign's report, empty before there is one, and what is waited for."""


@contextmanager
def live_view(system: System, console: Console) -> Iterator[Show]:
    """Yield what shows a report; without a terminal it prints a line now and then."""
    rates = _Rates(system)
    if not console.is_terminal:
        yield _Lines(rates, console).show
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield lambda report, awaited: live.update(
            _picture(report, awaited, rates.measure(), system.caps)
        )


def print_judgement(judgement: Judgement, console: Console) -> None:
    """Print the numbers and the checks."""
    numbers = Table("number", "sends", "cap/s", "average/s", "busiest 10 s", "fullest second")
    for use in judgement.numbers:
        numbers.add_row(
            use.phone_number_id,
            str(use.sends),
            str(use.cap),
            f"{use.average_per_second:.1f}",
            f"{use.busiest_per_second:.1f}",
            str(use.fullest_second),
        )
    checks = Table("", "what must hold", "what was found")
    for check in judgement.checks:
        mark = "[green]yes[/]" if check.holds else "[red]NO[/]"
        checks.add_row(mark, check.name, check.found)
    console.print(numbers, checks)


class _Rates:
    """Sends per second of each number since the last look at the ledger."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._seen: dict[str, int] = {}
        self._at = time.monotonic()

    def measure(self) -> dict[str, float]:
        now = time.monotonic()
        counts = {
            number: sum(verdicts.values())
            for number, verdicts in self._system.api.ask("ledger")["requests"].items()
        }
        seconds = max(now - self._at, 0.001)
        rates = {
            number: (counts.get(number, 0) - self._seen.get(number, 0)) / seconds
            for number in self._system.caps
        }
        self._seen, self._at = counts, now
        return rates


class _Lines:
    """A line every few seconds, for logs."""

    EVERY_SECONDS: Final = 5.0

    def __init__(self, rates: _Rates, console: Console) -> None:
        self._rates = rates
        self._console = console
        self._next_at = 0.0

    def show(self, report: Mapping[str, Any], awaited: str) -> None:
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + self.EVERY_SECONDS
        rates = " ".join(f"{rate:.0f}/s" for rate in self._rates.measure().values())
        state = report.get("state", "no campaign yet")
        self._console.print(f"{state}: {_states(report)} ({rates}); until {awaited}")


def _picture(
    report: Mapping[str, Any], awaited: str, rates: Mapping[str, float], caps: Mapping[str, int]
) -> Group:
    numbers = Table("number", "sends/s", "", "cap/s", "backlog")
    for number, cap in caps.items():
        queued = report.get("numbers", {}).get(number, {}).get("states", {}).get("queued", 0)
        bar = ProgressBar(total=cap, completed=min(cap, rates[number]), width=BAR_WIDTH)
        numbers.add_row(number, f"{rates[number]:.0f}", bar, str(cap), str(queued))
    total = report.get("total") or 1
    finished = sum(report.get("states", {}).get(state, 0) for state in FINAL)
    statuses = ", ".join(
        f"{count} {name}" for name, count in report.get("statuses", {}).items() if count
    )
    return Group(
        Text(f"campaign {report.get('campaign', '')}: {report.get('state', 'not yet there')}"),
        numbers,
        ProgressBar(total=total, completed=finished, width=2 * BAR_WIDTH),
        Text(f"\n{_states(report)}\n{statuses}\nuntil {awaited}"),
    )


def _states(report: Mapping[str, Any]) -> str:
    states = report.get("states", {})
    return ", ".join(f"{count} {name}" for name, count in states.items() if count) or "waiting"

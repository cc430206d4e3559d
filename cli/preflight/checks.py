"""What a check is, and what all of them come to."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

State = Literal["pass", "warn", "fail"]
_MARKS: Final[dict[State, str]] = {"pass": "ok  ", "warn": "WARN", "fail": "FAIL"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    remedy: str = ""
    """What to do; empty where nothing is to be done."""

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"{_MARKS[self.state]}  {self.name}: {self.found}"]
        return [*lines, f"        {self.remedy}"] if self.remedy else lines


def passed(name: str, found: str) -> Check:
    """Nothing is to be done."""
    return Check(name, "pass", found)


def warned(name: str, found: str, remedy: str) -> Check:
    """The deployment goes on, and somebody should know."""
    return Check(name, "warn", found, remedy)


def failed(name: str, found: str, remedy: str) -> Check:
    """The deployment would fail, or what it makes would not work."""
    return Check(name, "fail", found, remedy)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What could not be asked, and why: no network, no permission, an answer of another shape."""

    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Every check of a stage."""

    stage: str
    checks: Sequence[Check]

    @property
    def failed(self) -> bool:
        """Whether any check failed; warnings do not count."""
        return any(check.state == "fail" for check in self.checks)

    def lines(self) -> list[str]:
        """For people."""
        counts = Counter(check.state for check in self.checks)
        summary = ", ".join(f"{counts[state]} {state}" for state in _MARKS)
        return [*(line for check in self.checks for line in check.lines()), "", summary]

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        checks = [asdict(check) for check in self.checks]
        return {"stage": self.stage, "ready": not self.failed, "checks": checks}

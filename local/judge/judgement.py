"""The judgement of a run: the ledger's checks, and those of its story."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from local.judge.books import Books
from local.judge.checks import Check, Expected
from local.judge.ledger import ledger_checks
from local.judge.numbers import NumberUse, numbers_use


@dataclass(frozen=True)
class Outcome:
    """What a story comes to: its campaigns, and what was found of what it promises."""

    campaigns: tuple[Expected, ...]
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """All checks, with the figures that they were made from."""

    scenario: str
    reports: Mapping[str, Mapping[str, Any]]
    """By campaign."""
    numbers: tuple[NumberUse, ...]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return bool(self.checks) and all(check.holds for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Return it for machines."""
        return {
            "holds": self.holds,
            "scenario": self.scenario,
            "checks": [asdict(check) for check in self.checks],
            "numbers": [asdict(number) for number in self.numbers],
            "reports": self.reports,
        }


def judge(scenario: str, books: Books, outcome: Outcome) -> Judgement:
    """Judge a story whose campaigns have ended."""
    numbers = numbers_use(books.requests, books.caps)
    checks = ledger_checks(books, outcome.campaigns, numbers)
    return Judgement(scenario, books.reports, numbers, (*outcome.checks, *checks))


def checks_before(what: str, books: Books, expected: Sequence[Expected]) -> tuple[Check, ...]:
    """Return the ledger's checks of a moment after which rows are deleted."""
    found = ledger_checks(books, expected, numbers_use(books.requests, books.caps))
    return tuple(Check(f"{what}: {one.name}", one.holds, one.found) for one in found)

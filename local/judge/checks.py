"""One thing that must hold, and the ways to hold it against what was found."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

SHOWN_MAX: Final = 3


@dataclass(frozen=True)
class Check:
    """One thing that must hold, and what was found."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Expected:
    """A campaign, and what must have become of its audience."""

    campaign: str
    people: int
    rejected: int
    sent_to: frozenset[str] | None = None
    """Every address that must be sent to, as it was given; None: that is not asked."""
    resends: bool = False
    """Whether its policy is to send again what stays unknown."""


def equal(name: str, found: Any, expected: Any) -> Check:
    """Both are the same."""
    shown = f"{found}" if found == expected else f"{found}, not {expected}"
    return Check(name, found == expected, shown)


def within(name: str, found: float, *, least: float, most: float, unit: str = "") -> Check:
    """A figure lies between two others, or is one of them."""
    return Check(name, least <= found <= most, f"{found:g}{unit}, from {least:g} to {most:g}")


def nobody(name: str, wrong: Collection[Any], *, of: int) -> Check:
    """None of so many are wrong, and there are some: of nobody, anything holds."""
    shown = "".join(f", {one}" for one in sorted(map(str, wrong))[:SHOWN_MAX])
    return Check(name, not wrong and of > 0, f"{len(wrong)} of {of}{shown}")


def everybody(name: str, found: Collection[Any], expected: Collection[Any]) -> Check:
    """Exactly these, and there are some."""
    missing, others = set(expected) - set(found), set(found) - set(expected)
    holds = bool(expected) and not missing and not others and len(found) == len(expected)
    return Check(name, holds, f"{len(found)} of {len(expected)}{_named(missing, others)}")


def counted(name: str, found: Mapping[str, int], expected: Mapping[str, int]) -> Check:
    """The same count of each, whatever is zero."""
    ours = {key: count for key, count in found.items() if count}
    theirs = {key: count for key, count in expected.items() if count}
    return equal(name, dict(sorted(ours.items())), dict(sorted(theirs.items())))


def _named(missing: Collection[Any], others: Collection[Any]) -> str:
    lists = (("without", missing), ("and", others))
    return "".join(
        f"; {word} {', '.join(sorted(map(str, some))[:SHOWN_MAX])}" for word, some in lists if some
    )

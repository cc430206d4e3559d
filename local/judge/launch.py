"""What `launch` promises: nothing goes to people before it fits, was seen and is approved."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from local.judge.checks import Check, counted, equal, everybody, nobody, within

HELD_OUT: Final = "held out"
MISFITS_MIN: Final = 3
"""Mistakes that the first request has."""


@dataclass(frozen=True)
class Launch:
    """What was seen of the launch. Times are Unix seconds."""

    refusals: Mapping[str, Sequence[str]]
    """Reasons by what was refused: ``misfit``, ``not approved``, ``approved by the topic``,
    ``another content``."""
    uploads: Mapping[str, int]
    """Files by number."""
    tested: Mapping[tuple[str, str], int]
    """Messages of the test that reached Meta, by number and template."""
    tests: Mapping[tuple[str, str], int]
    """Those that were ordered."""
    approved_at: float
    approved_by: str | None
    passed_at: float
    """When the canary was over."""
    canary: int
    """People in it."""
    sent_at: Sequence[float]
    """When each message of the campaign reached Meta."""
    sent: Mapping[str, Collection[str]]
    """By person: the templates that were sent."""
    sides: Mapping[str, str]
    """By person who shall be sent to: the template, reckoned from the documented hash."""
    left_out: Mapping[str, Collection[str]]
    """Who shall get nothing, by why."""
    holdout: int
    """As the report counts it."""


def launch_checks(launch: Launch) -> tuple[Check, ...]:
    """Hold what was seen to what is promised."""
    return (
        _told_at_once(launch),
        _refused(launch, "not approved", "PENDING"),
        _refused(launch, "approved by the topic", "do not count by the topic"),
        _refused(launch, "another content", "another content"),
        _uploads(launch),
        counted("the test reaches each staff phone by each number, in each variant",
                _named(launch.tested), _named(launch.tests)),
        _nothing_before_the_approval(launch),
        _canary(launch),
        *(_left_out(launch, why) for why in launch.left_out),
        _sides(launch),
        everybody("everybody else is sent to", list(launch.sent), launch.sides),
        equal("the report counts the holdout", launch.holdout, len(launch.left_out[HELD_OUT])),
    )  # fmt: skip


def _told_at_once(launch: Launch) -> Check:
    return within(
        "a request that does not fit is refused with everything at once",
        len(launch.refusals.get("misfit", ())), least=MISFITS_MIN, most=20, unit=" reasons",
    )  # fmt: skip


def _refused(launch: Launch, what: str, words: str) -> Check:
    reasons = launch.refusals.get(what, ())
    holds = any(words in reason for reason in reasons)
    return Check(f"refused: {what}", holds, "; ".join(reasons) or "nothing was refused")


def _uploads(launch: Launch) -> Check:
    each = {number: 1 for number, _ in launch.tests}
    return counted("the picture is uploaded once for each number", launch.uploads, each)


def _nothing_before_the_approval(launch: Launch) -> Check:
    early = [at for at in launch.sent_at if at < launch.approved_at]
    found = nobody(
        "nobody is sent to before a second principal approves", early, of=len(launch.sent_at)
    )
    return Check(
        found.name,
        found.holds and bool(launch.approved_by),
        f"{found.found}; by {launch.approved_by}",
    )


def _canary(launch: Launch) -> Check:
    first = sum(at < launch.passed_at for at in launch.sent_at)
    return equal("the canary goes first, and nobody else until it is over", first, launch.canary)


def _left_out(launch: Launch, why: str) -> Check:
    people = launch.left_out[why]
    return nobody(f"nobody is sent to who is {why}", set(people) & set(launch.sent), of=len(people))


def _sides(launch: Launch) -> Check:
    wrong = [
        person
        for person, templates in launch.sent.items()
        if list(templates) != [launch.sides.get(person)]
    ]
    check = nobody(
        "everybody gets the variant of the documented hash, once", wrong, of=len(launch.sent)
    )
    shares = ", ".join(f"{n} {name}" for name, n in sorted(Counter(launch.sides.values()).items()))
    return Check(check.name, check.holds, f"{check.found} wrong; {shares}")


def _named(counts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    return {f"{number} {template}": count for (number, template), count in counts.items()}

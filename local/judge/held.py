"""What `held` promises: what Meta holds back, stops and restricts waits, and nobody is lost."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from local.judge.checks import Check, everybody

CLAIMED_SECONDS: Final = 3.0
"""What was claimed before it was known still leaves."""
KNOWN_SECONDS: Final = 25.0
"""From Meta's word until the report has it; some seconds, where the machine does nothing else."""


@dataclass(frozen=True)
class Silence:
    """A time in which nothing may leave. Unix seconds."""

    why: str
    told_at: float
    known_at: float
    """When the report had it."""
    ends_at: float


@dataclass(frozen=True)
class Held:
    """What was seen of a campaign that Meta stopped again and again."""

    held_seen: int
    """Messages that the report had as held at once, at most."""
    released: Collection[str]
    """People whose held message was delivered after all."""
    dropped: Collection[str]
    """People whose held message Meta dropped."""
    again: Collection[str]
    """Of those, the ones who were sent the message again later, and got it."""
    sends: Sequence[float]
    """When each message reached Meta, in order."""
    silences: Sequence[Silence]
    paused_for: Mapping[str, Sequence[str]]
    """What the audit says of each pause and its end, by who did it: meta, sluice, a person."""
    rate_factors: Mapping[str, float]
    """What was left of each number's rate after Meta's word about one of them."""
    slowed: str
    """That number."""
    signals: Collection[str]
    """The kinds that are kept."""
    told: Collection[str]
    """The kinds that Meta told."""


def held_checks(held: Held) -> tuple[Check, ...]:
    """Hold what was seen to what is promised."""
    return (
        _is_a_status(held),
        Check("what Meta holds and releases arrives", bool(held.released),
              f"{len(held.released)} released"),
        everybody("what Meta holds and drops is sent again after the pause", held.again,
                  held.dropped),
        *(_silent(held, silence) for silence in held.silences),
        _resumes(held, "meta", "template paused", "resumed"),
        _resumes(held, "ada", "template category", "resume"),
        _slows(held),
        everybody("whatever Meta tells is kept", held.signals, held.told),
    )  # fmt: skip


def _is_a_status(held: Held) -> Check:
    return Check(
        "a held message has a status of its own", held.held_seen > 0, f"{held.held_seen} at once"
    )


def _silent(held: Held, silence: Silence) -> Check:
    begins = silence.known_at + CLAIMED_SECONDS
    wrong = [at for at in held.sends if begins < at < silence.ends_at]
    after = sum(at >= silence.ends_at for at in held.sends)
    waited, length = silence.known_at - silence.told_at, silence.ends_at - begins
    name = f"nothing leaves while {silence.why}, and then it goes on"
    found = f"known after {waited:.1f} s; {len(wrong)} in {length:.1f} s, {after} after"
    holds = not wrong and after > 0 and length > 0 and waited <= KNOWN_SECONDS
    return Check(name, holds, found)


def _resumes(held: Held, who: str, reason: str, action: str) -> Check:
    paused = [one for noted in held.paused_for.values() for one in noted if reason in one]
    theirs = held.paused_for.get(who, ())
    holds = bool(paused) and action in {one.partition(":")[0] for one in theirs}
    name = f"the audit says that {who} let it go on after: {reason}"
    return Check(name, holds, "; ".join(dict.fromkeys([*paused, *theirs])) or "nothing")


def _slows(held: Held) -> Check:
    slowed = held.rate_factors.get(held.slowed, 1.0) < 1.0
    others = {one for number, one in held.rate_factors.items() if number != held.slowed}
    return Check(
        "an error of a number slows that number alone", slowed and others == {1.0},
        str(dict(held.rate_factors)),
    )  # fmt: skip

"""What will happen to an accepted message: decided at once, from the dice and the rules."""

import dataclasses
import math
from dataclasses import dataclass
from random import Random

from local.cloud_api.config import Config
from local.cloud_api.rules import Rule

_DUPLICATE_SECONDS = 1.0
_DROPPED_HELD_CODE = 132015


@dataclass(frozen=True, slots=True)
class Planned:
    """A status: when it occurs and when it is posted, in seconds after the request arrived."""

    status: str
    occurs: float
    posted: float
    code: int | None = None
    details: str = ""
    priced: bool = False
    with_opaque: bool = True


@dataclass(frozen=True, slots=True)
class Fate:
    """The whole future of one accepted message; `early` posts a status before the answer."""

    statuses: tuple[Planned, ...]
    latency_seconds: float
    held: bool = False
    lost_answer: bool = False
    early: bool = False


def plan(config: Config, dice: Random, rule: Rule | None) -> Fate:
    """Draw a fate. Every draw is made every time, so that one share does not move another."""
    rolls = {name: dice.random() < getattr(config, f"{name}_share") for name in _SHARES}
    latency = lognormal(dice, config.latency_milliseconds_median / 1000, config.latency_sigma)
    if rule is not None and rule.latency_seconds is not None:
        latency = rule.latency_seconds
    held = rolls["held"] or (rule is not None and rule.held)
    statuses = _life(config, dice, rolls, rule, start=config.held_seconds if held else 0.0)
    if held and rolls["held_dropped"]:
        statuses = [_failure(config.held_seconds, _DROPPED_HELD_CODE, "Held message was dropped")]
    if rolls["lost_status"] or (rule is not None and rule.silent):
        statuses = []
    early = rolls["early"] and bool(statuses) and not held
    return Fate(
        statuses=tuple(_posted(config, statuses, rolls, early=early)),
        latency_seconds=latency,
        held=held,
        lost_answer=rolls["lost_answer"] or (rule is not None and rule.lose_answer),
        early=early,
    )


def lognormal(dice: Random, median: float, sigma: float) -> float:
    """A draw in the unit of `median`; always one use of the dice, 0 for a median of 0."""
    factor = math.exp(sigma * dice.gauss(0.0, 1.0))
    return median * factor


_SHARES = (
    "delivered",
    "read",
    "read_without_delivered",
    "duplicate",
    "disorder",
    "early",
    "late",
    "lost_answer",
    "lost_status",
    "failed",
    "failed_without_opaque",
    "held",
    "held_dropped",
)


def _life(
    config: Config, dice: Random, rolls: dict[str, bool], rule: Rule | None, *, start: float
) -> list[Planned]:
    """What occurs, in the order of time."""
    sigma = config.delay_sigma
    sent = start + lognormal(dice, config.sent_seconds_median, sigma)
    delivered = sent + lognormal(dice, config.delivered_seconds_median, sigma)
    read = delivered + lognormal(dice, config.read_seconds_median, sigma)
    first = Planned("sent", sent, sent, priced=True)
    with_opaque = not rolls["failed_without_opaque"]
    if rule is not None and rule.asynchronous and rule.code is not None:
        failed = _failure(delivered, rule.code, rule.details, with_opaque=with_opaque)
        life = [first, failed] if rule.sent_first else [failed]
        return [*life, Planned("delivered", read, read, priced=True)] if rule.recovers else life
    if rolls["failed"]:
        return [first, _failure(delivered, config.failed_code, "", with_opaque=with_opaque)]
    life = [first]
    skips = rolls["read"] and rolls["read_without_delivered"]
    if rolls["delivered"] and not skips:
        life.append(Planned("delivered", delivered, delivered, priced=True))
    if rolls["delivered"] and rolls["read"]:
        life.append(Planned("read", read, read, priced=skips))
    return life


def _failure(after: float, code: int, details: str, *, with_opaque: bool = True) -> Planned:
    return Planned("failed", after, after, code=code, details=details, with_opaque=with_opaque)


def _posted(
    config: Config, life: list[Planned], rolls: dict[str, bool], *, early: bool
) -> list[Planned]:
    """When it is told: early, late, swapped, twice."""
    if early:
        life[0] = dataclasses.replace(life[0], occurs=0.0, posted=0.0)
    elif rolls["disorder"] and len(life) > 1:
        first, second = life[-2], life[-1]
        life[-2:] = [
            dataclasses.replace(second, posted=first.posted),
            dataclasses.replace(first, posted=second.posted),
        ]
    if rolls["late"] and life:
        life[-1] = dataclasses.replace(life[-1], posted=life[-1].posted + config.late_seconds)
    if rolls["duplicate"] and life:
        again = life[-1]
        life.append(dataclasses.replace(again, posted=again.posted + _DUPLICATE_SECONDS))
    return life

"""What `limits` promises: hours, daily limits, frequency and priorities are kept to the letter."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from local.judge.checks import Check, equal, nobody, within

PAUSE_SECONDS: Final = 2.5
"""From the order to the last message of a paused number: it is in force within two seconds."""


@dataclass(frozen=True)
class Limits:
    """What was seen. Times are Unix seconds; sends are times of arrival at Meta."""

    opens_at: float
    told_opens_at: Sequence[float]
    """As the reports told before; none where a campaign was loaded after it had opened."""
    sends: Mapping[str, Sequence[float]]
    """By campaign."""
    limits: Sequence[int]
    """People a day that the portfolio may write to, as they were in force one after another."""
    contacted: Sequence[int]
    """People written to, by all campaigns, when each of these limits was used up."""
    deferrable_contacted: Sequence[int]
    """Those of them whom the campaign wrote to that was deferrable at first."""
    waits_for: Collection[str]
    """What the report said that the normal campaign waits for, while a limit was used up."""
    twice_marketed: Collection[str]
    """Who got marketing of both campaigns."""
    in_both: int
    """People who are in both audiences."""
    too_often: int
    """Deliveries that the reports say were stopped by the frequency cap."""
    closed: Collection[str]
    """People in whose zone no window opened before the campaign expired."""
    expired: int
    """As the reports count."""
    sent_to: Collection[str]
    paused_at: float
    resumed_at: float
    paused_number_sends: Sequence[float]
    other_number_sends: Sequence[float]


def limits_checks(limits: Limits) -> tuple[Check, ...]:
    """Hold what was seen to what is promised."""
    return (
        equal("the reports tell when the window opens", set(limits.told_opens_at),
              {limits.opens_at}),
        _nobody_before_the_window(limits),
        *(_daily(limits, place) for place in range(len(limits.limits))),
        _says_so(limits),
        _yields(limits),
        _shares(limits),
        nobody("nobody gets more marketing than the frequency cap", limits.twice_marketed,
               of=limits.in_both),
        equal("the report counts who had too much", limits.too_often, limits.in_both),
        nobody("nobody is sent to in a zone where the window is closed",
               set(limits.closed) & set(limits.sent_to), of=len(limits.closed)),
        equal("who could not be sent to in time has expired", limits.expired, len(limits.closed)),
        _paused(limits),
        _resumed(limits),
    )  # fmt: skip


def _nobody_before_the_window(limits: Limits) -> Check:
    times = [at for sends in limits.sends.values() for at in sends]
    early = [at for at in times if at < limits.opens_at]
    check = nobody("nobody is sent to before the window opens", early, of=len(times))
    first = min(times, default=0.0) - limits.opens_at
    return Check(check.name, check.holds, f"{check.found}; the first {first:.1f} s after")


def _daily(limits: Limits, place: int) -> Check:
    limit, found = limits.limits[place], limits.contacted[place]
    return equal(f"the daily limit of {limit} is used up, and kept", found, limit)


def _says_so(limits: Limits) -> Check:
    said = [one for one in limits.waits_for if "limit" in one]
    return Check(
        "the report says that the limit is waited for", bool(said), "; ".join(limits.waits_for)
    )


def _yields(limits: Limits) -> Check:
    return equal(
        "while a normal campaign has people to send to, a deferrable one waits",
        limits.deferrable_contacted[0], 0,
    )  # fmt: skip


def _shares(limits: Limits) -> Check:
    gained = limits.deferrable_contacted[1] - limits.deferrable_contacted[0]
    new = limits.contacted[1] - limits.contacted[0]
    return within(
        "made normal, it has its part of the next people", gained, least=new / 4, most=new * 3 / 4
    )


def _paused(limits: Limits) -> Check:
    begins = limits.paused_at + PAUSE_SECONDS
    wrong = [at for at in limits.paused_number_sends if begins < at < limits.resumed_at]
    others = [at for at in limits.other_number_sends if begins < at < limits.resumed_at]
    return nobody("a paused number sends nothing, and the other one goes on", wrong, of=len(others))


def _resumed(limits: Limits) -> Check:
    after = [at for at in limits.paused_number_sends if at > limits.resumed_at]
    return Check("a resumed number takes its part again", bool(after), f"{len(after)} messages")

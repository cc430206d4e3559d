"""Two campaigns against the clock, a daily limit, a frequency cap and each other."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from local.judge.checks import Expected
from local.judge.judgement import Outcome
from local.judge.limits import Limits, limits_checks
from local.scenarios import meta
from local.scenarios.model import Scenario
from local.scenarios.people import abroad, addresses, in_the_united_states, people
from local.scenarios.play import FIRST_NUMBER, SECOND_NUMBER, Play
from local.scenarios.weather import LEAVE, MISHAPS

OPEN_DAY: Final = "open-day"
NEWSLETTER: Final = "newsletter"
FAR_AWAY: Final = "far-away"
PORTFOLIO: Final = "506914307656634"
ZONE: Final = "Africa/Nairobi"
FAR_ZONE: Final = "America/Los_Angeles"
"""Half a day away: no window that opens now in Nairobi is open there."""
LIMITS: Final = (600, 1_000)
TIER: Final = "TIER_10K"
READY_SECONDS: Final = 30.0
"""The window opens so long after the campaigns are published, at least."""
EXPIRES_SECONDS: Final = 15.0
"""After the window has opened, for those who are asleep."""
ORDER_SECONDS: Final = 3.0
"""Until an order is in force for certain."""
BOTH: Final = 120
FAR: Final = 40
AMERICANS: Final = 30


def story(play: Play) -> Outcome:
    """Wait for the window, and then for one limit after another."""
    opens = _next_minute(time.time() + READY_SECONDS)
    one, other, far, americans = _audiences()
    hours = _hours(opens)
    play.campaign(FAR_AWAY, play.audience(FAR_AWAY, far), **hours, **_end(opens))
    play.campaign(OPEN_DAY, play.audience(OPEN_DAY, [*one, *americans]), **hours)
    later = {**hours, "priority": "deferrable"}
    play.campaign(NEWSLETTER, play.audience(NEWSLETTER, other), **later)
    names = (FAR_AWAY, OPEN_DAY, NEWSLETTER)
    play.until("all are loaded", lambda: all(play.report(name).get("total") for name in names))
    told = [play.report(name)["next_window_at"] for name in (OPEN_DAY, NEWSLETTER)]
    met = {**one_limit_after_another(play), "opens_at": opens.timestamp()}
    met["told_opens_at"] = [datetime.fromisoformat(at).timestamp() for at in told if at]
    play.over(*names)
    return Outcome(
        (
            Expected(OPEN_DAY, len(one), len(americans)),
            Expected(NEWSLETTER, len(other), 0),
            Expected(FAR_AWAY, len(far), 0),
        ),
        limits_checks(_seen(play, met, addresses(far))),
    )


def one_limit_after_another(play: Play) -> dict[str, Any]:
    """Use each limit up; pause a number from the first until the second is used up."""
    contacted, deferrable, waits_for = [], [], set()

    def wait_for(limit: int) -> None:
        contacted.append(_used_up(play, limit))
        deferrable.append(len(play.requests(NEWSLETTER)))
        waits_for.update(play.report(OPEN_DAY)["ends"]["waits_for"])

    wait_for(LIMITS[0])
    play.order("prioritise", campaign=NEWSLETTER, priority="normal")
    paused_at = time.time()
    play.order("pause", phone_number_id=SECOND_NUMBER, reason="the line is checked")
    play.pause(ORDER_SECONDS)
    play.meta_says(*meta.daily_limit(LIMITS[1]))
    wait_for(LIMITS[1])
    resumed_at = time.time()
    play.order("resume", phone_number_id=SECOND_NUMBER)
    play.pause(ORDER_SECONDS)
    play.meta_says(*meta.daily_limit(TIER))
    return {
        "contacted": contacted,
        "deferrable_contacted": deferrable,
        "waits_for": waits_for,
        "paused_at": paused_at,
        "resumed_at": resumed_at,
    }


def _seen(play: Play, met: Mapping[str, Any], far: Sequence[str]) -> Limits:
    both = (OPEN_DAY, NEWSLETTER)
    return Limits(
        **met,
        sends={name: [sent.wall for sent in play.requests(name)] for name in both},
        limits=LIMITS,
        twice_marketed=_people(play, OPEN_DAY) & _people(play, NEWSLETTER),
        in_both=BOTH,
        too_often=sum(_refused(play, name) for name in both),
        closed=far,
        expired=play.report(FAR_AWAY)["states"]["expired"],
        sent_to=_people(play, FAR_AWAY),
        paused_number_sends=_times(play, SECOND_NUMBER),
        other_number_sends=_times(play, FIRST_NUMBER),
    )


def _audiences() -> tuple[list[dict[str, str]], ...]:
    """Of the open day, of the newsletter, of who is far away, and the Americans of the first."""
    everybody = abroad()
    far = [{**person, "time_zone": FAR_ZONE} for person in everybody[-FAR:]]
    americans = [person for person in people() if in_the_united_states(person)][:AMERICANS]
    return everybody[:1_600], everybody[1_600 - BOTH : 2_100], far, americans


def _hours(opens: datetime) -> dict[str, Any]:
    """A window that opens then, and a few quiet hours before it."""
    local = opens.astimezone(ZoneInfo(ZONE))
    return {
        **LEAVE,
        "category": "marketing",
        "send_window": {"opens": f"{local:%H:%M}", "closes": f"{local + timedelta(hours=2):%H:%M}"},
        "quiet_hours": [{"from": f"{local - timedelta(hours=3):%H:%M}", "to": f"{local:%H:%M}"}],
        "time_zone": ZONE,
    }


def _end(opens: datetime) -> dict[str, str]:
    return {"expires_at": (opens + timedelta(seconds=EXPIRES_SECONDS)).isoformat()}


def _next_minute(after: float) -> datetime:
    moment = datetime.fromtimestamp(after, UTC)
    return moment.replace(second=0, microsecond=0) + timedelta(minutes=1)


def _used_up(play: Play, limit: int) -> int:
    """Wait until nobody more is written to, and return how many were."""
    play.until(f"{limit} are written to", lambda: len(play.requests()) >= limit)
    # Dispatch looks every five seconds: if it would go over the limit, it would do it by then.
    play.pause(7.0)
    return len({one.recipient for one in play.requests()})


def _people(play: Play, campaign: str) -> set[str]:
    return {one.recipient for one in play.requests(campaign)}


def _refused(play: Play, campaign: str) -> int:
    return int(play.report(campaign)["refused"]["frequency_cap"])


def _times(play: Play, number: str) -> Sequence[float]:
    return [one.wall for one in play.requests() if one.phone_number_id == number]


LIMITS_SCENARIO: Final = Scenario(
    "limits",
    "two campaigns wait for their hours, a daily limit, a frequency cap and each other",
    story,
    simulation={**MISHAPS, "failed_share": 0.0},
    stage={
        "daily_limits": {PORTFOLIO: LIMITS[0]},
        "frequency_cap": {"messages": 1, "days": 7},
    },
)

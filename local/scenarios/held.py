"""Meta holds messages of a campaign, drops them, pauses its template, restricts its account."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from local.cloud_api import ledger
from local.judge.checks import Expected
from local.judge.held import Held, Silence, held_checks
from local.judge.judgement import Outcome
from local.scenarios import meta
from local.scenarios.model import Scenario
from local.scenarios.people import people
from local.scenarios.play import FIRST_NUMBER, SECOND_NUMBER, Play
from local.scenarios.weather import LEAVE, MISHAPS

CAMPAIGN: Final = "vaccination"
TEMPLATE: Final = "vaccination_reminder"
HELD_SECONDS: Final = 4.0
SILENCE_SECONDS: Final = 6.0
RESTRICTED_SECONDS: Final = 30.0
UNDER_WAY: Final = 120
"""Messages between one trouble and the next."""
SIGNALS: Final = "SELECT DISTINCT field FROM signal"
TOLD: Final = (
    "message_template_status_update",
    "account_update",
    "template_category_update",
    "account_alerts",
    "messages",
)


def story(play: Play) -> Outcome:
    """Let Meta stop the campaign in every way, one after another."""
    play.campaign(CAMPAIGN, play.audience(CAMPAIGN, people()), **LEAVE)
    held_seen = play.until("some are held", lambda: _held(play), seconds=120)
    play.until("it is under way", lambda: len(play.requests()) > 4 * UNDER_WAY)
    silences = [drop_what_is_held(play), restrict(play), recategorise(play)]
    play.meta_says(*meta.alert(FIRST_NUMBER))
    rate_factors = slow_down(play, SECOND_NUMBER)
    play.over(CAMPAIGN)
    held = _seen(play, held_seen, silences, rate_factors)
    return Outcome((Expected(CAMPAIGN, len(people()), 0),), held_checks(held))


def drop_what_is_held(play: Play) -> Silence:
    """Meta's quality assessment ends badly: what is held is dropped, the template is paused."""
    play.meta_does(held_share=0.3, held_seconds=HELD_SECONDS, held_dropped_share=1.0)
    play.pause(HELD_SECONDS)
    told_at = time.time()
    play.meta_does(
        held_share=0.0, held_dropped_share=0.0,
        rules=[{"code": 132015, "details": "The template is paused."}],
    )  # fmt: skip
    play.meta_says(*meta.template_status(TEMPLATE, "PAUSED", title="FIRST_PAUSE"))
    known_at = _paused(play)
    # The drops and the word of the pause come one after the other, and before the end of it.
    play.until("Meta has told all of it", lambda: not play.on_its_way())
    play.pause(SILENCE_SECONDS)
    play.meta_does(rules=[])
    ends_at = time.time()
    play.meta_says(*meta.template_status(TEMPLATE, "APPROVED", title="UNPAUSED"))
    _goes_on(play)
    return Silence("the template is paused", told_at, known_at, ends_at)


def restrict(play: Play) -> Silence:
    """Meta restricts the account for some seconds."""
    told_at = time.time()
    ends_at = float(int(told_at + RESTRICTED_SECONDS))
    play.meta_says(*meta.restriction(ends_at))
    play.until("the numbers are paused", lambda: all(
        one["paused_until"] for one in play.ask()["numbers"]
    ))  # fmt: skip
    known_at = time.time()
    play.until("the restriction is over", lambda: time.time() > ends_at)
    _goes_on(play)
    return Silence("the account is restricted", told_at, known_at, ends_at)


def recategorise(play: Play) -> Silence:
    """Meta makes the template marketing, which a person must accept; ada does."""
    told_at = time.time()
    play.meta_says(*meta.template_category(TEMPLATE, old="UTILITY", new="MARKETING"))
    known_at = _paused(play)
    play.pause(SILENCE_SECONDS)
    ends_at = time.time()
    play.order("resume", by="ada", campaign=CAMPAIGN)
    _goes_on(play)
    return Silence("the template has another category", told_at, known_at, ends_at)


def _paused(play: Play) -> float:
    play.until("it is paused", lambda: play.report(CAMPAIGN).get("state") == "paused")
    return time.time()


def slow_down(play: Play, number: str) -> dict[str, float]:
    """Meta tells of a number that it was too fast, without a message; return all rate factors."""
    play.meta_says(*meta.number_error(number, 130429, "Rate limit hit"))

    def factors() -> dict[str, float]:
        listed = play.ask()["numbers"]
        return {one["phone_number_id"]: float(one["rate_factor"]) for one in listed}

    play.until("it is slowed", lambda: factors()[number] < 1.0, seconds=30)
    return factors()


def _goes_on(play: Play) -> None:
    before = len(play.requests())
    play.until("it goes on", lambda: len(play.requests()) > before + UNDER_WAY)


def _held(play: Play) -> int:
    return int(play.report(CAMPAIGN).get("statuses", {}).get("held", 0))


def _seen(
    play: Play, held_seen: int, silences: Sequence[Silence], rate_factors: Mapping[str, float]
) -> Held:
    told = ledger.acknowledged_by_wamid(play.system.api.ledger)
    sends = play.requests(CAMPAIGN)
    held = {one.wamid: one.recipient for one in sends if one.verdict == "held"}
    arrived = {
        one.recipient
        for one in sends
        if {"delivered", "read"} & {status.status for status in told.get(one.wamid, ())}
    }
    dropped = {
        person for wamid, person in held.items()
        if "failed" in {status.status for status in told.get(wamid, ())}
    }  # fmt: skip
    released = {
        person for wamid, person in held.items()
        if {"delivered", "read"} & {status.status for status in told.get(wamid, ())}
    }  # fmt: skip
    return Held(
        held_seen=held_seen,
        released=released,
        dropped=dropped,
        again=dropped & arrived,
        sends=[one.wall for one in sends],
        silences=silences,
        paused_for=_noted(play.audit("paused", "resumed", "pause", "resume", campaign=CAMPAIGN)),
        rate_factors=rate_factors,
        slowed=SECOND_NUMBER,
        signals=[field for (field,) in play.rows(SIGNALS)],
        told=TOLD,
    )


def _noted(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    noted: dict[str, list[str]] = {}
    for one in entries:
        reason = one["details"].get("reason", "")
        noted.setdefault(one["actor"], []).append(f"{one['action']}: {reason}")
    return noted


HELD: Final = Scenario(
    "held",
    "Meta holds and drops messages, pauses the template, restricts the account: all of it passes",
    story,
    simulation={
        **MISHAPS,
        "failed_share": 0.0,
        "delivered_share": 1.0,
        "held_share": 0.15,
        "held_seconds": 3.0,
    },
)

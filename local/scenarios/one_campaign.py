"""The story of one campaign to a sample audience, and what happens in the middle of it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from local import number_variants
from local.judge.checks import Expected
from local.judge.judgement import Outcome
from local.sample_audience import AUDIENCES, CSV_FILE, DUPLICATES, INVALID, PEOPLE
from local.scenarios.play import FIRST_NUMBER, Play

SUPPRESSED: Final = "SELECT count(*) FROM suppression WHERE NOT lifted"


@dataclass(frozen=True)
class Event:
    """Something that happens in the middle of a run."""

    after_seconds: float
    """Since the first request reached the Cloud API."""
    simulation: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the config of the simulated Cloud API."""
    command: Mapping[str, Any] = field(default_factory=dict)
    """An order that somebody publishes; the campaign's id is filled in."""
    crash: bool = False
    """Postgres and the functions that run are killed; Postgres is started again."""


@dataclass(frozen=True)
class Audience:
    """A file of events/audiences, and what must become of its rows."""

    file: str
    people: int
    rejected: int
    stopping: tuple[str, ...] = ()
    """Who asks to stop before the campaign, as WhatsApp writes their numbers."""
    sent_to: frozenset[str] | None = None
    """Every address that must be sent to, as it was given; None: that is not asked."""


VACCINATION: Final = Audience(CSV_FILE.name, PEOPLE, DUPLICATES + INVALID)
MEXICO_AND_BRAZIL: Final = Audience(
    number_variants.FILE,
    people=len(number_variants.sent_to()),
    rejected=number_variants.rejected(),
    stopping=number_variants.stopping(),
    sent_to=number_variants.sent_to(),
)


@dataclass(frozen=True)
class OneCampaign:
    """Called, it is played."""

    request: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the sample request."""
    audience: Audience = VACCINATION
    events: tuple[Event, ...] = ()

    def __call__(self, play: Play) -> Outcome:
        """Publish it, let happen what happens, and wait for its end."""
        stop_before(play, self.audience)
        file = AUDIENCES / self.audience.file
        campaign = play.campaign(
            "vaccination", {"s3": play.put(file.name, file.read_bytes())}, **self.request
        )
        if self.events:
            play.until("the first message", lambda: play.requests(accepted=False))
            began_at = time.monotonic()
            for event in self.events:
                play.pause(began_at + event.after_seconds - time.monotonic())
                bring_about(play, event, campaign)
        play.over(campaign)
        expected = Expected(
            campaign,
            self.audience.people,
            self.audience.rejected,
            sent_to=self.audience.sent_to,
            resends=self.request.get("unknown_policy") == "resend",
        )
        return Outcome((expected,))


def stop_before(play: Play, audience: Audience) -> None:
    """Let people ask to stop; return when all of them are suppressed."""
    for person in audience.stopping:
        play.say(FIRST_NUMBER, f"+{person}", "STOP")
    expected = [(len(audience.stopping),)]
    play.until("everybody who asked to stop is", lambda: play.rows(SUPPRESSED) == expected)


def bring_about(play: Play, event: Event, campaign: str) -> None:
    """Let an event happen."""
    if event.crash:
        play.system.crash()
    if event.simulation:
        play.meta_does(**event.simulation)
    if event.command:
        play.publish({"kind": "command", **event.command, "campaign": campaign})

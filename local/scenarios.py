"""What the simulated Cloud API does to the campaign of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from local import number_variants
from local.sample_audience import CSV_FILE, DUPLICATES, INVALID, PEOPLE

MISHAPS: Final = {
    "seed": 7,
    "duplicate_share": 0.05,
    "disorder_share": 0.10,
    "early_share": 0.05,
    "late_share": 0.02,
    "late_seconds": 8.0,
    "read_without_delivered_share": 0.05,
    "failed_share": 0.01,
    "held_share": 0.005,
}
"""What webhooks are like every day: doubled, out of order, early, late."""


ACCOUNT: Final = "102290129340398"
FIRST_NUMBER: Final = "106540352242922"
SECOND_NUMBER: Final = "106540352242923"


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
class Scenario:
    """A campaign, and what it meets."""

    name: str
    meaning: str
    simulation: Mapping[str, Any]
    """Changes to the config of the simulated Cloud API."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the sample request."""
    audience: Audience = VACCINATION
    events: tuple[Event, ...] = ()
    seconds_max: float = 240.0

    @property
    def resends(self) -> bool:
        """Whether the campaign's policy is to send again what stays unknown."""
        return self.request.get("unknown_policy") == "resend"


SCENARIOS: Final = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "calm",
            "an ordinary day: a few answers are lost, a few people are not on WhatsApp",
            {**MISHAPS, "lost_answer_share": 0.005},
            {"unknown_policy": "leave", "unknown_window_seconds": 60},
        ),
        Scenario(
            "timeouts",
            "one answer in twenty is lost, some for good: what stays unknown is sent again",
            {**MISHAPS, "lost_answer_share": 0.05, "lost_status_share": 0.05},
            {"unknown_policy": "resend", "unknown_window_seconds": 60},
            seconds_max=420.0,
        ),
        Scenario(
            "throttled",
            "Meta grants less than the configured cap: the rate comes down by itself",
            {
                **MISHAPS,
                "numbers": {
                    FIRST_NUMBER: {"messages_per_second": 55},
                    SECOND_NUMBER: {"messages_per_second": 80},
                },
            },
            {"unknown_policy": "leave", "unknown_window_seconds": 60},
        ),
        Scenario(
            "template-paused",
            "Meta pauses the template in the middle; somebody resumes the campaign later",
            MISHAPS,
            {"unknown_policy": "leave", "unknown_window_seconds": 60},
            events=(
                Event(6.0, simulation={"rules": [{"code": 132015, "details": "Template paused"}]}),
                Event(16.0, simulation={"rules": []}, command={"action": "resume"}),
            ),
        ),
        Scenario(
            "mexico-and-brazil",
            "people whose number is written in two ways, and whom WhatsApp knows by another one",
            MISHAPS,
            {"category": "marketing", "unknown_policy": "leave", "unknown_window_seconds": 60},
            audience=MEXICO_AND_BRAZIL,
        ),
        Scenario(
            "restart",
            "Postgres and every function are killed in the middle: everything goes on by itself",
            MISHAPS,
            {"unknown_policy": "leave", "unknown_window_seconds": 60},
            events=(Event(8.0, crash=True),),
            seconds_max=600.0,
        ),
        Scenario(
            "number-lost",
            "one of the two numbers is deleted in the middle: the other one takes its share",
            MISHAPS,
            {"unknown_policy": "leave", "unknown_window_seconds": 60},
            events=(
                Event(
                    6.0,
                    simulation={
                        "rules": [
                            {
                                "phone_number_id": FIRST_NUMBER,
                                "code": 33,
                                "details": "The business phone number has been deleted.",
                            }
                        ]
                    },
                ),
            ),
        ),
    )
}
"""By name."""

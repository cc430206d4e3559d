"""Seven days on which one campaign meets what campaigns meet: by name, from calm to crash."""

from typing import Final

from local.scenarios.model import Scenario
from local.scenarios.one_campaign import MEXICO_AND_BRAZIL, Event, OneCampaign
from local.scenarios.play import FIRST_NUMBER, SECOND_NUMBER

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
    "webhooks_in_flight_max": 4,
    "statuses_per_post_max": 50,
}
"""What webhooks are like every day: doubled, out of order, early, late. Few at once, so that a busy
machine answers each within the five seconds that the function has."""
LEAVE: Final = {"unknown_policy": "leave", "unknown_window_seconds": 60}
RESEND: Final = {"unknown_policy": "resend", "unknown_window_seconds": 60}

CALM: Final = Scenario(
    "calm",
    "an ordinary day: a few answers are lost, a few people are not on WhatsApp",
    OneCampaign(LEAVE),
    simulation={**MISHAPS, "lost_answer_share": 0.005},
)

TIMEOUTS: Final = Scenario(
    "timeouts",
    "one answer in twenty is lost, some for good: what stays unknown is sent again",
    OneCampaign(RESEND),
    simulation={**MISHAPS, "lost_answer_share": 0.05, "lost_status_share": 0.05},
)

THROTTLED: Final = Scenario(
    "throttled",
    "Meta grants less than the configured cap: the rate comes down by itself",
    OneCampaign(LEAVE),
    simulation={
        **MISHAPS,
        "numbers": {
            FIRST_NUMBER: {"messages_per_second": 55},
            SECOND_NUMBER: {"messages_per_second": 80},
        },
    },
)

TEMPLATE_PAUSED: Final = Scenario(
    "template-paused",
    "Meta pauses the template in the middle; somebody resumes the campaign later",
    OneCampaign(
        LEAVE,
        events=(
            Event(6.0, simulation={"rules": [{"code": 132015, "details": "Template paused"}]}),
            Event(16.0, simulation={"rules": []}, command={"action": "resume"}),
        ),
    ),
    simulation=MISHAPS,
)

NUMBER_LOST: Final = Scenario(
    "number-lost",
    "one of the two numbers is deleted in the middle: the other one takes its share",
    OneCampaign(
        LEAVE,
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
    simulation=MISHAPS,
)

MEXICO_AND_BRAZIL_DAY: Final = Scenario(
    "mexico-and-brazil",
    "people whose number is written in two ways, and whom WhatsApp knows by another one",
    OneCampaign({**LEAVE, "category": "marketing"}, audience=MEXICO_AND_BRAZIL),
    simulation=MISHAPS,
)

RESTART: Final = Scenario(
    "restart",
    "Postgres and every function are killed in the middle: everything goes on by itself",
    OneCampaign(LEAVE, events=(Event(8.0, crash=True),)),
    simulation=MISHAPS,
)

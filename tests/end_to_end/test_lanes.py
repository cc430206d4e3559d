"""A person who talks is answered at once, however much bulk waits; and the cap holds for both."""

import random
import time

from local.cloud_api import ledger
from local.system import System
from tests.end_to_end.conftest import FIRST, Campaign, people, until

PEOPLE = 900
TALKS = 8
ANSWERED_SECONDS = 4.0
"""Two are promised; the rest is for what else this machine does, and for environments that start
anew in the middle of it."""


def test_a_conversation_goes_before_everything_and_both_lanes_keep_the_cap(
    system: System,
) -> None:
    dice = random.Random(5)
    campaign = Campaign(
        system, "busy", people(50_000, PEOPLE), numbers=[FIRST], unknown_policy="leave"
    )
    campaign.publish()
    began_at = time.monotonic()
    until(lambda: campaign.states().get("done", 0) > 50, seconds=40, what="it is under way")

    asked: dict[str, float] = {}
    for place in range(TALKS):
        address = f"+49151557{place:05d}"
        asked[address] = _say(system, f"answer-{place}", address)
        time.sleep(dice.choice([0.2, 0.5, 1.0, 2.0]))
    until(lambda: len(_answered(system, asked)) == TALKS, seconds=20, what="all are answered")
    campaign.await_states({"done": PEOPLE}, seconds=90)

    waited = [at - asked[address] for address, at in _answered(system, asked).items()]
    assert sorted(waited)[TALKS // 2] < ANSWERED_SECONDS, f"waited {waited}"
    sends = sorted(
        one.arrived
        for one in ledger.requests(system.api.ledger)
        if one.phone_number_id == FIRST and one.arrived > began_at
    )
    most, over = ledger.fullest_window(sends, system.caps[FIRST])
    assert over == 0, f"{most} requests in one second"


def _say(system: System, name: str, address: str) -> float:
    request = {
        "id": name,
        "phone_number_id": FIRST,
        "lane": "conversation",
        "recipients": [{"address": address}],
        "message": {"type": "text", "text": {"body": "The clinic is open today."}},
    }
    asked_at = time.monotonic()
    system.publish(request, kind="send", phone_number_id=FIRST, lane="conversation")
    return asked_at


def _answered(system: System, asked: dict[str, float]) -> dict[str, float]:
    """When each of them was written to."""
    return {
        one.recipient: one.arrived
        for one in ledger.requests(system.api.ledger)
        if one.recipient in asked
    }

"""The scenarios of a run: what they tell the simulated Cloud API is what it understands."""

import json

import pytest
import yaml

from local.cloud_api.config import Config, changed
from local.cloud_api.engine import Asked, Engine
from local.sample_audience import AUDIENCES
from local.scenarios import FIRST_NUMBER, SCENARIOS, Scenario
from local.system import STAGE_FILE

ALL = sorted(SCENARIOS.values(), key=lambda scenario: scenario.name)


def caps() -> dict[str, int]:
    """Messages per second that the stage is configured for."""
    numbers = yaml.safe_load(STAGE_FILE.read_text(encoding="utf-8"))["numbers"]
    return {number["phone_number_id"]: number["messages_per_second"] for number in numbers}


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_the_simulated_api_understands_what_it_is_told(scenario: Scenario) -> None:
    config = changed(Config(), scenario.simulation)
    for event in scenario.events:
        config = changed(config, event.simulation)


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_its_audience_is_there_and_its_events_are_in_order(scenario: Scenario) -> None:
    times = [event.after_seconds for event in scenario.events]
    assert (AUDIENCES / scenario.audience.file).is_file()
    assert times == sorted(times)
    assert all(time < scenario.seconds_max for time in times)


def test_throttled_is_a_storm_of_130429_for_whoever_keeps_to_the_configured_cap() -> None:
    config = changed(Config(), SCENARIOS["throttled"].simulation)
    engine, rate = Engine(config), caps()[FIRST_NUMBER] * 0.95
    body = {"messaging_product": "whatsapp", "text": {"body": "hi"}}
    verdicts = [
        engine.judge(
            Asked(
                place,
                place / rate,
                FIRST_NUMBER,
                f"Bearer {config.access_tokens[0]}",
                json.dumps({**body, "to": f"+4915100{place:06d}"}).encode(),
            )
        ).verdict
        for place in range(int(3 * rate))
    ]
    assert verdicts.count("throttled") > rate / 2

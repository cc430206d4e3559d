"""The scenarios of a run: what they tell the simulated Cloud API is what it understands."""

import json

import pytest

from infra.config import stage_of as stage_from
from local.cloud_api.config import Config, changed
from local.cloud_api.engine import Asked, Engine
from local.sample_audience import AUDIENCES
from local.scenarios import SCENARIOS
from local.scenarios.model import Scenario
from local.scenarios.one_campaign import OneCampaign
from local.scenarios.people import known_by, people
from local.scenarios.play import FIRST_NUMBER
from local.synthesis import stage_of
from sluice.domain.suppressions import key_of_identity, match_key

ALL = sorted(SCENARIOS.values(), key=lambda scenario: scenario.name)
DAYS = [one for one in ALL if isinstance(one.story, OneCampaign)]


def caps() -> dict[str, int]:
    """Messages per second that the stage is configured for."""
    return {
        number["phone_number_id"]: number["messages_per_second"]
        for number in stage_of({})["numbers"]
    }


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_the_simulated_api_and_the_stage_understand_what_they_are_told(scenario: Scenario) -> None:
    config = changed(Config(), scenario.simulation)
    assert config != Config()
    stage = {"cloud_api_url": "http://127.0.0.1/v1.0", "database": {"url": "postgresql://x"}}
    stage_from(stage_of({**stage, **scenario.stage}))


@pytest.mark.parametrize("scenario", DAYS, ids=lambda scenario: scenario.name)
def test_its_audience_is_there_and_its_events_are_in_order(scenario: Scenario) -> None:
    story = scenario.story
    assert isinstance(story, OneCampaign)
    config = changed(Config(), scenario.simulation)
    for event in story.events:
        config = changed(config, event.simulation)
    times = [event.after_seconds for event in story.events]
    assert (AUDIENCES / story.audience.file).is_file()
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


def test_people_are_known_by_a_number_that_is_theirs() -> None:
    for person in people():
        assert key_of_identity(known_by(person["address"])) == match_key(person["address"])


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("+5511987654321", "551187654321"),
        ("+5510900000094", "5510900000094"),
        ("+5215512345678", "525512345678"),
        ("+541123456789", "5491123456789"),
    ],
)
def test_whatsapp_knows_some_by_another_number(given: str, known: str) -> None:
    assert known_by(given) == known

"""Stages as people write them, right and wrong."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.config import CONFIG_DIRECTORY, AuroraDatabase, ConfigError, GivenDatabase, load_stage
from infra.stage_checks import NUMBERS_PER_BUCKET_MAX
from infra.yaml_file import values_in
from sluice.domain.frequency import FrequencyCap
from sluice.domain.lanes import BULK, CONVERSATION
from sluice.domain.words import vocabulary_from


def written(directory: Path, **changes: Any) -> Path:
    values = values_in(CONFIG_DIRECTORY / "example.yaml")
    text = yaml.safe_dump({**values, **changes}, allow_unicode=True)
    (directory / "example.yaml").write_text(text, encoding="utf-8")
    return directory


@pytest.mark.parametrize(
    ("messages_per_second", "slots", "own", "lent"),
    [
        (20, 2, 15.2, 15.2),
        (80, 2, 60.8, 76.0),
        (250, 4, 190.0, 237.5),
        (1000, 10, 760.0, 950.0),
    ],
)
def test_the_lanes_share_a_number_and_large_ones_lend(
    tmp_path: Path, messages_per_second: int, slots: int, own: float, lent: float
) -> None:
    values = {
        "phone_number_id": "106540352242922",
        "account_id": "1",
        "portfolio_id": "1",
        "messages_per_second": messages_per_second,
        "bucket": 0,
    }
    stage = load_stage("example", directory=written(tmp_path, numbers=[values]))
    (number,) = stage.numbers
    assert (number.slots(BULK), number.slots(CONVERSATION)) == (slots, 2)
    assert stage.lane_rate(number, BULK) == pytest.approx(own)
    assert stage.lent_rate(number, BULK) == pytest.approx(lent)
    assert stage.lane_rate(number, CONVERSATION) == stage.lent_rate(number, CONVERSATION)


def test_a_stage_changes_the_words_that_stop_and_start(tmp_path: Path) -> None:
    stage = load_stage(
        "example",
        directory=written(
            tmp_path,
            stop_words={"sw": {"add": ["komesha"]}, "es": {"replace": ["basta"]}},
            start_words={"sw": {"add": ["rudi"]}},
            stop_payloads=["OPT_OUT_V2"],
        ),
    )
    vocabulary = vocabulary_from(stage.words)
    asked = [vocabulary.request_of(word) for word in ("Komesha", "basta", "alto", "rudi", "stop")]
    assert asked == ["stop", "stop", None, "start", "stop"]
    assert vocabulary.request_of("OPT_OUT_V2", payload=True) == "stop"


def test_a_stage_that_changes_no_words_tells_of_none() -> None:
    assert load_stage("example").words == "{}"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"start_words": {"en": {"add": ["stop"]}}}, "stops and starts: stop"),
        ({"stop_words": {"en": {"add": ["🛑"]}}}, "without a letter or a digit"),
        ({"stop_words": {"en": {"added": ["x"]}}}, "stop_words.en.added"),
        ({"stop_words": {"English": {"add": ["x"]}}}, "stop_words.English"),
        ({"stop_payloads": [f"{number:099d}" for number in range(25)]}, "at most 2048"),
    ],
)
def test_words_that_cannot_work_are_refused_before_anything_is_deployed(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_stage("example", directory=written(tmp_path, **changes))


def test_a_frequency_cap_is_told_as_functions_read_it(tmp_path: Path) -> None:
    capped = written(tmp_path, frequency_cap={"messages": 2, "days": 7})
    stage = load_stage("example", directory=capped)
    assert FrequencyCap.parse(stage.frequency_cap_json) == FrequencyCap(messages=2, days=7)
    assert FrequencyCap.parse(load_stage("example").frequency_cap_json) is None


def number(**changes: Any) -> dict[str, Any]:
    values = {
        "phone_number_id": "106540352242922",
        "account_id": "1",
        "portfolio_id": "1",
        "messages_per_second": 80,
        "bucket": 0,
    }
    return {**values, **changes}


def full(bucket: int, *, of: int) -> list[dict[str, Any]]:
    return [number(phone_number_id=f"{bucket}{10_000 + n}", bucket=bucket) for n in range(of)]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"numbers": [number(), number(account_id="2")]}, "106540352242922 appears 2 times"),
        ({"numbers": full(3, of=NUMBERS_PER_BUCKET_MAX + 1)}, "bucket 3 holds"),
        (
            {"numbers": [number(), number(phone_number_id="10654", portfolio_id="2")]},
            "account 1 is in the portfolios 1 and 2",
        ),
        ({"daily_limits": {"1": 250}}, "no number is of the portfolio 1"),
        ({"approval_above_recipients": 10}, "would wait for ever"),
    ],
    ids=["number", "bucket", "account", "portfolio", "approvers"],
)
def test_values_that_exclude_each_other_are_refused(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_stage("example", directory=written(tmp_path, **changes))


def test_every_problem_between_values_is_told_at_once(tmp_path: Path) -> None:
    numbers = [number(), number(portfolio_id="2"), *full(3, of=NUMBERS_PER_BUCKET_MAX + 1)]
    with pytest.raises(ConfigError) as raised:
        load_stage("example", directory=written(tmp_path, numbers=numbers))
    assert len(str(raised.value).splitlines()) == 1 + 3


def test_a_key_that_comes_twice_is_refused_with_the_file_s_name(tmp_path: Path) -> None:
    file = written(tmp_path) / "example.yaml"
    file.write_text("stage: example\nstage: example\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"(?s)example\.yaml:.*line 2: stage is here again"):
        load_stage("example", directory=tmp_path)


def test_slots_may_be_given(tmp_path: Path) -> None:
    stage = load_stage("example", directory=written(tmp_path, numbers=[number(bulk_slots=5)]))
    assert stage.numbers[0].slots(BULK) == 5
    assert stage.lane_rate(stage.numbers[0], BULK) == pytest.approx(60.8)


def test_the_example_has_a_cluster_of_its_own() -> None:
    assert isinstance(load_stage("example").database, AuroraDatabase)


def test_the_local_stage_is_given_its_addresses() -> None:
    stage = load_stage(
        "local",
        cloud_api_url="http://127.0.0.1:9/v25.0",
        database_url="postgresql://sluice@127.0.0.1:5432/sluice",
    )
    assert stage.database == GivenDatabase(url="postgresql://sluice@127.0.0.1:5432/sluice")
    assert stage.cloud_api_url == "http://127.0.0.1:9/v25.0"


def test_the_local_stage_without_addresses_says_which_are_missing() -> None:
    with pytest.raises(ConfigError, match=r"(?s)cloud_api_url.*database"):
        load_stage("local")


def test_an_unknown_stage_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="dev, example, local"):
        load_stage("nowhere")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pace_factor": 1.2}, "pace_factor"),
        ({"pace": 1}, "pace: "),
        ({"numbers": []}, "numbers"),
        ({"numbers": [{"phone_number_id": "+15550001111"}]}, r"numbers.0.phone_number_id"),
        ({"cloud_api_url": "https://graph.facebook.com"}, "cloud_api_url"),
        ({"stage": "other"}, "its stage is 'other'"),
        ({"daily_limits": {"506914307656634": 0}}, r"daily_limits.506914307656634"),
        ({"frequency_cap": {"messages": 2, "days": 31}}, "frequency_cap.days"),
        ({"alarm_emails": ["nobody"]}, r"alarm_emails.0"),
        ({"log_retention_days": 31}, "log_retention_days"),
        ({"database": {"capacity_min": 0.3}}, r"database.aurora.capacity_min"),
        ({"database": {"capacity_min": 9}}, "capacity_min is over capacity_max"),
        ({"database": {"auto_pause_seconds": 300}}, "only a capacity_min of 0"),
        ({"database": {"url": "postgresql://a/b", "readers": 1}}, r"database.given.readers"),
        ({"approval_above_recipients": -1}, "approval_above_recipients"),
        ({"approvers": ["arn:aws:iam::123456789012:root"]}, r"approvers.0"),
        ({"approvers": ["arn:aws:iam::123456789012:role/*"]}, r"approvers.0"),
        ({"approvers": ["arn:aws:sts::123456789012:assumed-role/head/ada"]}, r"approvers.0"),
        ({"approvers": ["grace"]}, r"approvers.0"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_value_is_named(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_stage("example", directory=written(tmp_path, **changes))

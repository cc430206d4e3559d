"""The config file."""

import json

import pytest

from local.cloud_api.config import Config, Number, as_json, changed, read_config
from local.cloud_api.rules import Rule


def test_an_empty_file_is_the_default(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}")
    assert read_config(path) == Config()


def test_numbers_and_rules_are_read():
    config = changed(
        Config(),
        {
            "numbers": {"7": {"messages_per_second": 5}},
            "rules": [{"recipient": "+491", "attempts": [1, 2], "code": 131000}],
        },
    )
    assert config.numbers == {"7": Number(messages_per_second=5)}
    assert config.rules == (Rule(recipient="+491", attempts=(1, 2), code=131000),)


def test_what_is_written_reads_back():
    config = Config(rules=(Rule(code=1),), seed=9, app_secrets=("new", "old"))
    assert changed(Config(), json.loads(json.dumps(as_json(config)))) == config


@pytest.mark.parametrize(
    "changes",
    [
        {"unheard_of": 1},
        {"numbers": {"7": {"unheard_of": 1}}},
        {"rules": [{"unheard_of": 1}]},
        {"read_share": 1.1},
        {"app_secrets": []},
        {"statuses_per_post_max": 0},
    ],
)
def test_a_wrong_config_is_refused(changes):
    with pytest.raises(ValueError, match=r".+"):
        changed(Config(), changes)

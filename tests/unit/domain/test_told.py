"""What webhooks tell about a template."""

from datetime import UTC, datetime

import pytest

from sluice.domain.signals import actions_of
from sluice.domain.told import TellTemplate

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
AT = datetime.fromtimestamp(1796126400, UTC)


def told(field="message_template_status_update", account="1", **value):
    named = {"message_template_name": "reminder", "message_template_language": "en-US"}
    signal = {"account": account, "field": field, "time": 1796126400, "value": named | value}
    return [one for one in actions_of(signal, now=NOW) if isinstance(one, TellTemplate)]


def word(**facts):
    return [TellTemplate("1", "reminder", "en_us", AT, **facts)]


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ("APPROVED", "APPROVED"),
        ("paused", "PAUSED"),
        ("REJECTED", "REJECTED"),
        ("PENDING_DELETION", "PENDING_DELETION"),
        ("REINSTATED", "APPROVED"),
        ("FLAGGED", None),
        ("EVENT_OF_THE_FUTURE", None),
    ],
)
def test_an_event_is_a_status_or_only_a_reason_to_ask_again(event, status):
    assert told(event=event) == word(status=status)


def test_an_unpause_is_told_by_its_title():
    assert told(event="APPROVED", other_info={"title": "UNPAUSED"}) == word(status="APPROVED")


@pytest.mark.parametrize(
    "field", ["message_template_quality_update", "message_template_status_update"]
)
def test_a_quality_is_known_by_its_own_name_whatever_the_field(field):
    assert told(field, new_quality_score="YELLOW") == word(quality="YELLOW")


def test_a_category_is_told():
    assert told("template_category_update", new_category="MARKETING") == word(category="MARKETING")


@pytest.mark.parametrize(
    "signal",
    [
        {"account": None},
        {"message_template_name": None},
        {"message_template_name": "a\0b"},
        {"field": "messages"},
    ],
)
def test_other_signals_tell_nothing_of_templates(signal):
    assert told(**signal) == []

"""Signal: kept, then acted upon, then marked; whatever dies between."""

from datetime import UTC, datetime

import pytest

from sluice.steps.signal import SignalKeeper

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Signals:
    """Keeps signals by their digest, with when they were acted upon."""

    def __init__(self):
        self.rows = {}

    def keep(self, signals, *, asking, now):
        new = [digest for digest in signals if digest not in self.rows]
        self.rows |= {digest: None if digest in asking else now for digest in new}
        return [signals[digest]["field"] for digest in new]

    def to_do(self, digests):
        return {digest for digest in digests if self.rows[digest] is None}

    def acted(self, digest, *, now):
        self.rows[digest] = now


class Suppressions:
    """Takes every key but one, until it is mended."""

    def __init__(self, poison=None, error=ValueError):
        self.poison, self.error, self.suppressed = poison, error, []

    def suppress(self, suppressions):
        keys = [one.match_key for one in suppressions]
        if self.poison in keys:
            raise self.error
        self.suppressed += keys


class Stops:
    """Counts pauses of templates."""

    def __init__(self):
        self.paused = 0

    def pause_template(self, *_template, **_more):
        self.paused += 1
        return 1


def stop_of(person):
    preference = {"wa_id": person, "category": "marketing_messages", "value": "stop"}
    return {"account": "1", "field": "user_preferences", "time": None,
            "value": {"user_preferences": [preference]}}  # fmt: skip


PAUSED = {
    "account": "1",
    "field": "message_template_status_update",
    "value": {"event": "PAUSED", "message_template_name": "reminder"},
}


@pytest.fixture
def keeper():
    return SignalKeeper(signals=Signals(), suppressions=Suppressions(), stops=Stops())


def heed(keeper, *signals, fatal=OSError):
    return keeper.heed(signals, now=NOW, fatal=fatal)


def test_a_signal_that_is_acted_upon_is_left_alone_when_it_comes_again(keeper):
    first, again = heed(keeper, PAUSED), heed(keeper, PAUSED)

    assert (first.kept, first.actions, first.stops) == (
        {"message_template_status_update": 1}, {"PauseTemplate": 1}, 1
    )  # fmt: skip
    assert (again.kept, again.actions, again.stops) == ({}, {}, 0)
    assert keeper.stops.paused == 1


def test_a_signal_that_was_kept_and_not_acted_upon_is_acted_upon_when_it_comes_again(keeper):
    keeper.suppressions.poison = "+4915155000001"
    assert len(heed(keeper, stop_of("4915155000001")).failures) == 1
    keeper.suppressions.poison = None

    again = heed(keeper, stop_of("4915155000001"))

    assert (again.kept, again.failures) == ({}, [])
    assert keeper.suppressions.suppressed == ["+4915155000001"]


def test_a_signal_that_fails_holds_no_other(keeper):
    keeper.suppressions.poison = "+4915155000002"

    heeded = heed(keeper, *(stop_of(f"491515500000{one}") for one in (1, 2, 3)))

    assert [type(error) for error in heeded.failures] == [ValueError]
    assert keeper.suppressions.suppressed == ["+4915155000001", "+4915155000003"]


def test_an_error_that_the_next_signal_would_meet_too_passes_through(keeper):
    keeper.suppressions.poison = "+4915155000001"

    with pytest.raises(ValueError):  # noqa: PT011 - the fake's own
        heed(keeper, stop_of("4915155000001"), stop_of("4915155000002"), fatal=ValueError)

    assert keeper.suppressions.suppressed == []


def test_a_signal_that_asks_for_nothing_is_done_with_at_once(keeper):
    heeded = heed(keeper, {"account": "1", "field": "messages", "value": {}})

    assert (heeded.kept, heeded.actions) == ({"messages": 1}, {})
    assert list(keeper.signals.rows.values()) == [NOW]

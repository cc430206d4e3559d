"""Signal: kept, then acted upon, then marked; whatever dies between."""

from datetime import UTC, datetime

import pytest

from sluice.domain.inbound import Answered
from sluice.domain.words import BUILT_IN
from sluice.steps.signal import SignalKeeper

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
OURS = Answered("reminder", 7, 1, None)


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

    def acted(self, digests, *, now):
        self.rows |= dict.fromkeys(digests, now)


class Suppressions:
    """Takes every key but one, until it is mended."""

    def __init__(self, poison=None, error=ValueError):
        self.poison, self.error, self.suppressed = poison, error, []

    def suppress(self, suppressions):
        keys = [one.match_key for one in suppressions]
        if self.poison in keys:
            raise self.error
        self.suppressed += keys


class Conversations:
    """Knows one message of ours, and who was heard."""

    def __init__(self):
        self.heard, self.poison = [], None

    def hear(self, heard, *, now):
        assert now == NOW
        if any(self.poison in one.keys for one in heard):
            raise ValueError
        self.heard += [one.keys[0] for one in heard]

    def answered(self, wamids):
        return {"wamid.ours": OURS} if "wamid.ours" in wamids else {}


class Subscribers:
    """Hear everything, or nothing while the topic is away."""

    def __init__(self):
        self.told, self.calls, self.away = [], 0, False
        self.meanwhile = lambda: None

    def tell(self, replies, *, now):
        self.calls += 1
        self.meanwhile()
        if self.away:
            raise ValueError
        self.told += [(inbound.wamid, answered) for inbound, answered in replies]


class Stops:
    """Counts pauses of templates."""

    def __init__(self):
        self.paused = 0

    def pause_template(self, *_template, **_more):
        self.paused += 1
        return 1


class Templates:
    """Takes every word."""

    def __init__(self):
        self.told = []

    def tell(self, told):
        self.told.append(told)


def stop_of(person):
    preference = {"wa_id": person, "category": "marketing_messages", "value": "stop"}
    return {"account": "1", "field": "user_preferences", "time": None,
            "value": {"user_preferences": [preference]}}  # fmt: skip


PAUSED = {
    "account": "1",
    "field": "message_template_status_update",
    "value": {"event": "PAUSED", "message_template_name": "reminder"},
}


def said(name, sender="4915155000001", **message):
    """A message of a person; ``name`` is its wamid."""
    value = {
        "metadata": {"phone_number_id": "5"},
        "messages": [{"from": sender, "id": f"wamid.{name}", "type": "text", **message}],
    }
    return {"account": "1", "field": "messages", "time": None, "value": value}


@pytest.fixture
def keeper():
    return SignalKeeper(
        signals=Signals(),
        suppressions=Suppressions(),
        conversations=Conversations(),
        subscribers=Subscribers(),
        stops=Stops(),
        vocabulary=BUILT_IN,
        limits=None,
        templates=Templates(),
    )


def heed(keeper, *signals, fatal=OSError):
    """Heed signals, each in a queue message of its own."""
    messages = {f"message-{place}": [one] for place, one in enumerate(signals)}
    return keeper.heed(messages, now=NOW, fatal=fatal)


def test_a_signal_that_is_acted_upon_is_left_alone_when_it_comes_again(keeper):
    first, again = heed(keeper, PAUSED), heed(keeper, PAUSED)

    assert (first.kept, first.actions, first.stops) == (
        {"message_template_status_update": 1}, {"PauseTemplate": 1, "TellTemplate": 1}, 1
    )  # fmt: skip
    assert (again.kept, again.actions, again.stops) == ({}, {}, 0)
    assert keeper.stops.paused == 1
    assert [told.status for told in keeper.templates.told] == ["PAUSED"]


def test_a_signal_that_was_kept_and_not_acted_upon_is_acted_upon_when_it_comes_again(keeper):
    keeper.suppressions.poison = "+4915155000001"
    assert list(heed(keeper, stop_of("4915155000001")).failures) == ["message-0"]
    keeper.suppressions.poison = None

    again = heed(keeper, stop_of("4915155000001"))

    assert (again.kept, again.failures) == ({}, {})
    assert keeper.suppressions.suppressed == ["+4915155000001"]


def test_a_signal_that_fails_holds_no_other(keeper):
    keeper.suppressions.poison = "+4915155000002"

    heeded = heed(keeper, *(stop_of(f"491515500000{one}") for one in (1, 2, 3)))

    assert list(heeded.failures) == ["message-1"]
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


def test_replies_of_many_messages_are_told_together_with_what_they_answer(keeper):
    answer = said("2", context={"id": "wamid.ours"})

    heeded = heed(keeper, said("1"), answer, said("3", context={"id": "wamid.theirs"}))

    assert keeper.subscribers.told == [("wamid.1", None), ("wamid.2", OURS), ("wamid.3", None)]
    assert (heeded.replies, keeper.subscribers.calls) == (3, 1)


def test_a_reply_that_is_brought_again_is_told_once_however_it_is_gathered(keeper):
    heed(keeper, said("1"))
    together = said("1")
    together["value"]["messages"] += said("2", sender="4915155000002")["value"]["messages"]
    together["time"] = 5

    heed(keeper, said("1"), together)

    assert [wamid for wamid, _ in keeper.subscribers.told] == ["wamid.1", "wamid.2"]


def test_while_the_topic_is_away_replies_come_again_and_stops_count(keeper):
    keeper.subscribers.away = True
    stop = said("1", text={"body": "stop"})

    heeded = heed(keeper, stop, PAUSED)
    assert list(heeded.failures) == ["message-0"]
    assert keeper.suppressions.suppressed == ["+4915155000001"]
    keeper.subscribers.away = False
    heed(keeper, stop)

    assert [wamid for wamid, _ in keeper.subscribers.told] == ["wamid.1"]


def test_what_fails_before_nobody_is_told(keeper):
    keeper.suppressions.poison = "+4915155000001"
    keeper.conversations.poison = "+4915155000002"

    heeded = heed(
        keeper,
        said("1", text={"body": "stop"}),
        said("2", sender="4915155000002"),
        said("3", sender="4915155000003"),
    )

    assert sorted(heeded.failures) == ["message-0", "message-1"]
    assert keeper.subscribers.told == [("wamid.3", None)]
    assert keeper.conversations.heard == ["+4915155000001", "+4915155000003"]


def test_a_conversation_is_open_before_anybody_is_told(keeper):
    heard_when_told = []
    keeper.subscribers.meanwhile = lambda: heard_when_told.extend(keeper.conversations.heard)

    heed(keeper, said("1"))

    assert heard_when_told == ["+4915155000001"]

"""Report: counters, added up."""

from datetime import UTC, datetime, timedelta

from sluice.domain.budget import Allowance
from sluice.steps.report import report

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Reports:
    def __init__(self, counters=(), **changes):
        self.row = {
            "campaign_id": 1,
            "state": "running",
            "reason": None,
            "created_at": NOW,
            "loaded_at": NOW,
            "finished_at": None,
            "loaded_rows": 0,
            "start_at": None,
            "zones": [],
            "send_window": None,
            "quiet_hours": None,
            "stages": 0,
            "stage": 0,
            "released": 0,
            "numbers": ["1"],
            "rejected": 0,
        } | changes
        self.counted = list(counters)

    def campaign(self, campaign):
        return self.row if campaign == "known" else None

    def counters(self, campaign_id):
        assert campaign_id == 1
        return self.counted

    def rejected(self, campaign_id, *, limit):
        assert (campaign_id, limit) == (1, 50)
        return []

    def refused(self, campaign_id):
        return [(-3, 2)]

    def allowances(self, numbers, *, now):
        assert numbers == ["1"]
        return [Allowance("9", 250, 240, 15, ("1",))]


def test_an_unknown_campaign_has_no_report():
    assert report("unknown", reports=Reports(), now=NOW) is None


def test_every_state_and_status_is_named_even_at_zero():
    told = report("known", reports=Reports(), now=NOW)

    assert set(told["states"].values()) == set(told["statuses"].values()) == {0}
    assert list(told["states"]) == [
        "pending", "queued", "sending", "unknown", "done", "failed", "cancelled", "expired",
    ]  # fmt: skip


def test_states_and_statuses_are_added_up_in_total_and_by_number():
    told = report(
        "known",
        reports=Reports([
            ("", "pending", "none", 10),
            ("1", "done", "read", 3),
            ("1", "done", "delivered", 2),
            ("2", "done", "read", 4),
        ]),
        now=NOW,
    )  # fmt: skip

    assert told["total"] == 19
    assert (told["states"]["pending"], told["states"]["done"]) == (10, 9)
    assert (told["statuses"]["read"], told["statuses"]["delivered"]) == (7, 2)
    assert list(told["numbers"]) == ["1", "2"]
    assert told["numbers"]["1"]["states"]["done"] == 5
    assert told["numbers"]["2"]["statuses"]["read"] == 4


def test_a_campaign_that_is_paused_while_it_loads_is_paused():
    def state(**changes):
        return report("known", reports=Reports(loaded_at=None, **changes), now=NOW)["state"]

    assert state() == "loading"
    assert state(state="paused") == "paused"


WINDOW = {
    "send_window": {"opens": "10:00", "closes": "12:00", "days": ["sun"]},
    "quiet_hours": [],
    "zones": ["Europe/Berlin", "America/New_York"],
}


def next_window_at(now=NOW, **changes):
    return report("known", reports=Reports(**WINDOW | changes), now=now)["next_window_at"]


def test_a_closed_window_is_told_with_the_time_at_which_the_first_zone_opens():
    assert next_window_at(NOW - timedelta(hours=1)) == "2026-03-01T09:00:00+00:00"
    assert next_window_at(NOW + timedelta(hours=3)) == "2026-03-01T15:00:00+00:00"


def test_no_window_is_told_while_one_is_open_or_when_there_is_none_or_nothing_left_to_send():
    assert next_window_at(NOW) is None
    assert next_window_at(send_window=None) is None
    assert next_window_at(NOW + timedelta(hours=3), finished_at=NOW) is None


def test_a_window_is_looked_for_from_the_start_of_the_campaign_on():
    assert next_window_at(start_at=NOW + timedelta(days=1)) == "2026-03-08T09:00:00+00:00"
    assert next_window_at(NOW - timedelta(hours=9), start_at=NOW) is None


def test_the_stage_is_told_while_it_limits_the_campaign():
    told = report("known", reports=Reports(stages=3, stage=1, released=500), now=NOW)
    assert told["stage"] == {"number": 2, "of": 3, "released": 500}

    told = report("known", reports=Reports(stages=3, stage=3, released=900), now=NOW)
    assert told["stage"] is None
    assert report("known", reports=Reports(loaded_at=None), now=NOW)["state"] == "loading"
    assert (
        report("known", reports=Reports(loaded_at=None, state="paused"), now=NOW)["state"]
        == "paused"
    )


def test_a_report_tells_the_daily_limit_of_the_portfolio_and_what_is_used_of_it():
    told = report("known", reports=Reports(), now=NOW)

    assert told["daily_limits"] == [
        {"portfolio_id": "9", "daily_limit": 250, "contacted": 240, "queued": 15, "left": 0}
    ]


def test_a_report_tells_why_the_last_look_stopped_a_message():
    told = report("known", reports=Reports(), now=NOW)

    assert told["refused"] == {"window_closed": 0, "suppressed": 2, "frequency_cap": 0}

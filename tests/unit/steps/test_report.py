"""Report: counters, added up."""

from datetime import UTC, datetime, timedelta

from sluice.domain.budget import Allowance
from sluice.steps.report.campaign import overview, report

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Reports:
    def __init__(self, counters=(), **changes):
        self.row = {
            "campaign_id": 1,
            "campaign": "known",
            "kind": "campaign",
            "state": "running",
            "reason": None,
            "numbers": ["1"],
            "start_at": None,
            "expires_at": None,
            "paused_until": None,
            "created_at": NOW,
            "loaded_at": NOW,
            "finished_at": None,
            "approval": None,
            "loaded_rows": 0,
            "zones": [],
            "send_window": None,
            "quiet_hours": None,
            "stages": 0,
            "stage": 0,
            "released": 0,
            "rejected": 0,
            "holdout": 0,
            "variants": [],
        } | changes
        self.counted = [(1, *counter) for counter in counters]

    def campaign(self, campaign):
        return self.row if campaign == "known" else None

    def newest(self, *, limit):
        assert limit == 50
        return [self.row]

    def counters(self, campaign_ids):
        assert campaign_ids == [1]
        return self.counted

    def rejected(self, campaign_id, *, limit):
        assert (campaign_id, limit) == (1, 50)
        return []

    def refused(self, campaign_id):
        assert campaign_id == 1
        return [(-3, 2)]

    def resends(self, campaign_id, *, limit):
        assert (campaign_id, limit) == (1, 20)
        return []

    def allowances(self, numbers, *, now):
        assert numbers == ["1"]
        assert now.tzinfo is UTC
        return [Allowance("9", 250, 240, 15, ("1",))]

    def samples(self, campaign_id, *, now):
        assert campaign_id == 1
        assert now.tzinfo is UTC
        return []

    def numbers(self, only=None, *, now):
        assert only in (["1"], None)
        assert now.tzinfo is UTC
        return []


def told(now=NOW, **changes):
    return report("known", reports=Reports(**changes), now=now)


def test_an_unknown_campaign_has_no_report():
    assert report("unknown", reports=Reports(), now=NOW) is None


def test_every_state_and_status_is_named_even_at_zero():
    answer = told()

    assert set(answer["states"].values()) == set(answer["statuses"].values()) == {0}
    assert list(answer["states"]) == [
        "pending", "queued", "sending", "unknown", "done", "failed", "cancelled", "expired",
    ]  # fmt: skip


COUNTERS = [
    ("", "pending", "none", 10),
    ("1", "done", "read", 3),
    ("1", "done", "delivered", 2),
    ("2", "done", "read", 4),
]


def test_states_and_statuses_are_added_up_in_total_and_by_number():
    answer = told(counters=COUNTERS)

    assert answer["total"] == 19
    assert (answer["states"]["pending"], answer["states"]["done"]) == (10, 9)
    assert (answer["statuses"]["read"], answer["statuses"]["delivered"]) == (7, 2)
    assert list(answer["numbers"]) == ["1", "2"]
    assert answer["numbers"]["1"]["states"]["done"] == 5
    assert answer["numbers"]["2"]["statuses"]["read"] == 4


def test_the_list_says_of_each_campaign_what_its_report_says():
    one = told(counters=COUNTERS)

    (listed,) = overview(reports=Reports(counters=COUNTERS), now=NOW)["campaigns"]

    assert listed == {name: one[name] for name in listed}
    assert listed["total"] == 19


def test_a_campaign_that_is_paused_while_it_loads_is_paused():
    assert told(loaded_at=None)["state"] == "loading"
    assert told(loaded_at=None, state="paused")["state"] == "paused"


def test_without_prices_no_details_are_asked_for():
    assert "details" not in told()


WINDOW = {
    "send_window": {"opens": "10:00", "closes": "12:00", "days": ["sun"]},
    "quiet_hours": [],
    "zones": ["Europe/Berlin", "America/New_York"],
}


def next_window_at(now=NOW, **changes):
    return told(now, **WINDOW | changes)["next_window_at"]


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
    assert told(stages=3, stage=1, released=500)["stage"] == {
        "number": 2,
        "of": 3,
        "released": 500,
    }
    assert told(stages=3, stage=3, released=900)["stage"] is None


def test_a_report_tells_the_daily_limit_of_the_portfolio_and_what_is_used_of_it():
    assert told()["daily_limits"] == [
        {"portfolio_id": "9", "daily_limit": 250, "contacted": 240, "queued": 15, "left": 0}
    ]


def test_a_report_tells_why_the_last_look_stopped_a_message():
    assert told()["refused"] == {"window_closed": 0, "suppressed": 2, "frequency_cap": 0}

"""Report: counters, added up."""

from datetime import UTC, datetime

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


def test_an_unknown_campaign_has_no_report():
    assert report("unknown", reports=Reports()) is None


def test_every_state_and_status_is_named_even_at_zero():
    told = report("known", reports=Reports())

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
    )  # fmt: skip

    assert told["total"] == 19
    assert (told["states"]["pending"], told["states"]["done"]) == (10, 9)
    assert (told["statuses"]["read"], told["statuses"]["delivered"]) == (7, 2)
    assert list(told["numbers"]) == ["1", "2"]
    assert told["numbers"]["1"]["states"]["done"] == 5
    assert told["numbers"]["2"]["statuses"]["read"] == 4


def test_a_campaign_that_is_paused_while_it_loads_is_paused():
    assert report("known", reports=Reports(loaded_at=None))["state"] == "loading"
    assert report("known", reports=Reports(loaded_at=None, state="paused"))["state"] == "paused"

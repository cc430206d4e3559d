"""How much there is of what: gauges and the line of a campaign."""

from sluice.domain.delivery import State
from sluice.domain.gauges import LINES_MAX, gauges_of, rows_in, told_apart

ROWS = [
    (7, "reminder", "campaign", "running", "pending", "none", 5),
    (7, "reminder", "campaign", "running", "done", "read", 2),
    (7, "reminder", "campaign", "running", "done", "delivered", 3),
    (7, "reminder", "campaign", "running", "done", "accepted", 1),
    (7, "reminder", "campaign", "running", "pending", "failed", 4),
    (1, "direct-bulk", "direct", "running", "done", "sent", 9),
]


def test_who_read_a_message_is_among_whom_it_was_sent_and_delivered_to():
    line = gauges_of(ROWS)[0].line()

    assert (line["campaign_id"], line["campaign"], line["state"]) == (7, "reminder", "running")
    told = [line[f"status_{word}"] for word in ("accepted", "sent", "delivered", "read")]
    assert told == [1, 5, 5, 2]
    assert (line["rows_pending"], line["rows_done"], line["rows_unknown"]) == (9, 6, 0)


def test_what_failed_and_is_tried_again_is_not_given_up():
    assert gauges_of(ROWS)[0].line()["status_given_up"] == 0


def test_rows_are_added_up_over_campaigns_and_direct_sends():
    assert rows_in(gauges_of(ROWS), State.DONE) == 15


def test_only_the_newest_campaigns_have_a_line():
    rows = [(one, str(one), "campaign", "running", "done", "sent", 1) for one in range(2, 150)]

    lines = told_apart(gauges_of([*rows, *ROWS]))

    assert len(lines) == LINES_MAX
    assert lines[0].campaign_id == 149
    assert "direct-bulk" not in {gauge.campaign for gauge in lines}

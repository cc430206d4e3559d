"""Which tables a statement about one campaign names."""

from itertools import pairwise

import pytest

from sluice.adapters.postgres import (
    campaigns,
    claims,
    conversations,
    loads,
    picks,
    reconciliations,
    record,
    silences,
    statuses,
    suppressions,
)
from sluice.adapters.postgres.partitions import APART_FROM, TABLES, in_partition, split

OWN = APART_FROM + 7


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("SELECT 1 FROM delivery WHERE x", "SELECT 1 FROM delivery_1000000007 AS delivery WHERE x"),
        ("JOIN delivery AS d USING (seq)", "JOIN delivery_1000000007 AS d USING (seq)"),
        ("UPDATE delivery AS d SET x", "UPDATE delivery_1000000007 AS d SET x"),
        ("UPDATE delivery\nSET x", "UPDATE delivery_1000000007 AS delivery\nSET x"),
        ("INSERT INTO message (seq)", "INSERT INTO message_1000000007 (seq)"),
        ("COPY recipient (seq) FROM STDIN", "COPY recipient_1000000007 (seq) FROM STDIN"),
        (
            "DELETE FROM delivery USING dropped WHERE delivery.seq = 1",
            "DELETE FROM delivery_1000000007 AS delivery USING dropped WHERE delivery.seq = 1",
        ),
        ("INSERT INTO delivery_error (seq)", "INSERT INTO delivery_error_1000000007 (seq)"),
        ("r.message FROM recipient AS r", "r.message FROM recipient_1000000007 AS r"),
        ("FROM campaign JOIN suppression", "FROM campaign JOIN suppression"),
        ("%(states)s::delivery_state[]", "%(states)s::delivery_state[]"),
        ("UPDATE campaign FROM delivery_due", "UPDATE campaign FROM delivery_due"),
    ],
)
def test_a_statement_names_the_partitions_of_its_campaign(statement, named):
    assert in_partition(statement, OWN) == named


def test_most_campaigns_lie_together():
    assert in_partition("FROM delivery AS d", 12) == "FROM delivery_shared AS d"
    assert in_partition("FROM delivery AS d", APART_FROM - 1) == "FROM delivery_shared AS d"


@pytest.mark.parametrize(
    "statement",
    [
        campaigns.STORE_DELIVERIES, campaigns.STORE_RECIPIENTS, claims.CLAIM, claims.RELEASE,
        conversations.LEARN_SENT, loads.COPY_DELIVERIES, loads.COPY_RECIPIENTS, loads.COPY_REJECTED,
        loads.DROPPED, loads.DROP_DELIVERIES, loads.DROP_RECIPIENTS, loads.REJECT_DROPPED,
        loads.STAY, picks.PICK, picks.REQUEUE_IDLE, reconciliations.CLOSE_WAITING,
        reconciliations.DOUBT_STUCK, reconciliations.FINISH, reconciliations.FREE_STICKY,
        reconciliations.REQUEUE_LOST, reconciliations.SETTLE_UNKNOWN, record.RECORD, silences.SWEEP,
        statuses.APPLY, statuses.ATTEMPTS_BEFORE, statuses.EXPLAIN_FAILURES, suppressions.STRIKE,
        suppressions.SUPPRESS_OPTED_OUT, suppressions.SUPPRESS_UNDELIVERABLE,
    ],
    ids=lambda statement: " ".join(statement.split()[:6]),
)  # fmt: skip
def test_no_statement_of_one_campaign_names_a_whole_table(statement):
    words = in_partition(statement, OWN).replace("(", " ").split()

    verbs = {"FROM", "JOIN", "UPDATE", "INTO", "COPY"}
    named = [after for word, after in pairwise(words) if word in verbs]
    assert not set(named) & set(TABLES)
    assert in_partition(statement, OWN) != statement


def test_a_batch_is_split_where_partitions_differ():
    ids = [1, 2, 2, APART_FROM, APART_FROM, OWN]

    assert split(ids, lambda one: one) == [[1, 2, 2], [APART_FROM, APART_FROM], [OWN]]

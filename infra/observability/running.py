"""Alarms on what runs: queues, topics, functions, the database."""

from typing import Final

from aws_cdk.aws_cloudwatch import ComparisonOperator

from infra.observability import formulas
from infra.observability.rows import Row
from infra.observability.subjects import (
    functions,
    of_one_function,
    of_one_topic,
    of_stage,
    of_the_database,
    own_database,
    stage,
    waiting,
)
from sluice import metrics

CAPACITY_SHARE_MAX: Final = 0.95
CONNECTIONS_SHARE_MAX: Final = 0.8
EVERY_MINUTE: Final = ("dispatch", "reconcile", "redrive")
EVERY_HOUR: Final = ("erase",)
RARELY: Final = ("approve", "erase", "export", "migrate", "schedule")
"""Run so seldom that each failure counts."""

QUEUES: Final = (
    Row(
        name="dead-letters",
        meaning="A function failed on these messages too often. Redrive sends them back by itself, "
        "but for approvals; if this stays, the function's errors say why.",
        subjects=lambda watched: watched.inventory.dead,
        series=waiting,
    ),
    Row(
        name="undelivered",
        meaning="The topic could not deliver to that queue: nearly always a policy of the queue.",
        subjects=lambda watched: watched.inventory.undelivered,
        series=waiting,
    ),
    Row(
        name="parked-messages",
        meaning="Messages that no retry can help, each with its reason.",
        subjects=lambda watched: watched.inventory.parked,
        series=waiting,
    ),
    Row(
        name="unrouted-messages",
        meaning="Messages that match no number and no kind: their publisher is wrong.",
        subjects=lambda watched: watched.inventory.unrouted,
        series=waiting,
    ),
    Row(
        name="queue-stalled",
        meaning="Messages grow old in this queue, and not one was finished for a quarter of an "
        "hour.",
        subjects=lambda watched: watched.inventory.work,
        series=formulas.stalled,
        periods=3,
        pooled=True,
    ),
)
TOPICS: Final = (
    Row(
        name="published-without-attributes",
        meaning="A message without attributes was published, and SNS has dropped it: its publisher "
        "must set kind, phone_number_id and lane.",
        subjects=stage,
        # It matches no filter policy, not even ``exists: false``
        # (https://docs.aws.amazon.com/sns/latest/dg/attribute-key-matching.html).
        series=of_one_topic(
            lambda watched: watched.names.topic,
            "NumberOfNotificationsFilteredOut-NoMessageAttributes",
        ),
    ),
    Row(
        name="topic-lost-messages",
        meaning="The topic could deliver neither to a queue nor to what keeps undelivered "
        "messages: they are gone.",
        subjects=stage,
        series=of_one_topic(
            lambda watched: watched.names.topic, "NumberOfNotificationsFailedToRedriveToDlq"
        ),
    ),
    Row(
        name="subscribers-unreached",
        meaning="A subscriber of what people reply does not get it.",
        subjects=stage,
        series=of_one_topic(lambda watched: watched.names.inbound, "NumberOfNotificationsFailed"),
        periods=3,
    ),
)
FUNCTIONS: Final = (
    Row(
        name="function-throttled",
        meaning="Lambda refused to run this function: receives are burned, and messages may end as "
        "dead without having run. Another invoker, or a quota of the account.",
        # Two runs at once of what runs every minute would be one too many: that is as it should be.
        subjects=functions(but=EVERY_MINUTE),
        series=of_one_function("Throttles"),
    ),
    Row(
        name="function-errors",
        meaning="This function fails again and again.",
        subjects=functions(but=RARELY),
        series=of_one_function("Errors"),
        minutes=1,
        periods=10,
        breaching=3,
        pooled=True,
    ),
    Row(
        name="rare-function-errors",
        meaning="This function, which runs seldom, has failed.",
        subjects=functions(*RARELY),
        series=of_one_function("Errors"),
        pooled=True,
    ),
    Row(
        name="not-running",
        meaning="This function must run every minute, and does not.",
        subjects=functions(*EVERY_MINUTE),
        series=of_one_function("Invocations"),
        threshold=1,
        comparison=ComparisonOperator.LESS_THAN_THRESHOLD,
        missing="breaching",
    ),
    Row(
        name="not-running-hourly",
        meaning="This function must run every hour, and did not for three: nothing old is deleted.",
        subjects=functions(*EVERY_HOUR),
        series=of_one_function("Invocations"),
        threshold=1,
        comparison=ComparisonOperator.LESS_THAN_THRESHOLD,
        minutes=60,
        periods=3,
        missing="breaching",
    ),
    Row(
        name="senders-ended-early",
        meaning="Senders stop in the middle of their work, mostly because the database is away; "
        "their chunks come again.",
        subjects=stage,
        series=of_stage(metrics.ENDED_EARLY, "send", "Sum"),
        minutes=1,
        periods=10,
        breaching=3,
        pooled=True,
    ),
    Row(
        name="redrive-failing",
        meaning="A dead-letter queue cannot be emptied: its messages will expire.",
        subjects=stage,
        series=of_stage(metrics.REDRIVE_FAILURES, "redrive", "Sum"),
        periods=3,
    ),
)
DATABASE: Final = (
    Row(
        name="database-at-capacity",
        meaning="The database has had all the capacity that it may have, for half an hour.",
        subjects=own_database,
        series=of_the_database("ServerlessDatabaseCapacity"),
        threshold_of=lambda watched: formulas.capacity(watched) * CAPACITY_SHARE_MAX,
        comparison=ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        periods=6,
    ),
    Row(
        name="database-connections",
        meaning="The database has four fifths of the connections that it can have.",
        subjects=own_database,
        series=of_the_database("DatabaseConnections"),
        threshold_of=lambda watched: formulas.connections(watched) * CONNECTIONS_SHARE_MAX,
        periods=3,
    ),
)

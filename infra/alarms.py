"""Alarms: one on every queue where nothing may lie, one on every sender that was throttled."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from sluice import metrics

PERIOD: Final = Duration.minutes(5)


def alarm_when_not_empty(
    scope: Construct, construct_id: str, *, queue: sqs.Queue, alarms: sns.ITopic, meaning: str
) -> None:
    """Ring while a message is visible in this queue.

    Visible only: one that ``redrive`` holds is being dealt with. Queues that are idle for six
    hours stop reporting, so missing data is good news.
    """
    _alarm(
        scope,
        construct_id,
        metric=queue.metric_approximate_number_of_messages_visible(
            period=PERIOD, statistic="Maximum"
        ),
        alarms=alarms,
        meaning=meaning,
    )


def alarm_when_throttled(
    scope: Construct,
    construct_id: str,
    *,
    function: lambda_.IFunction,
    alarms: sns.ITopic,
) -> None:
    """Ring when Lambda refused an invocation: nobody but its queue may invoke a sender."""
    _alarm(
        scope,
        construct_id,
        metric=function.metric_throttles(period=PERIOD),
        alarms=alarms,
        meaning="A sender was throttled: receives are burned, and messages may end as dead "
        "without having run. Look for another invoker, or a quota of the account.",
    )


def alarm_when_a_person_is_needed(
    scope: Construct, construct_id: str, *, dimensions: Mapping[str, str], alarms: sns.ITopic
) -> None:
    """Ring when a campaign, a number or an account was stopped, or Meta said something new."""
    _alarm(
        scope,
        construct_id,
        metric=cloudwatch.Metric(
            namespace=metrics.NAMESPACE,
            metric_name=metrics.NEEDS_PERSON,
            dimensions_map=dict(dimensions),
            period=PERIOD,
            statistic="Sum",
        ),
        alarms=alarms,
        meaning="A campaign, a number or an account was stopped, or Meta used a code that the "
        "error table does not have: the function's log and the report say which.",
    )


def alarm_when_approval_is_awaited(
    scope: Construct, construct_id: str, *, alarms: sns.ITopic
) -> None:
    """Ring while a campaign is held until an approver lets it go."""
    _alarm(
        scope,
        construct_id,
        metric=cloudwatch.Metric(
            namespace=metrics.NAMESPACE,
            metric_name=metrics.AWAITING_APPROVAL,
            dimensions_map={"service": "reconcile"},
            period=PERIOD,
            statistic="Maximum",
        ),
        alarms=alarms,
        meaning="A campaign goes to so many people that an approver must agree, and waits for it: "
        "the report says which.",
    )


def alarm_when_published_blind(
    scope: Construct, construct_id: str, *, topic: sns.ITopic, alarms: sns.ITopic
) -> None:
    """Ring when a message had no attributes at all.

    Such a message matches no filter policy, not even ``exists: false``
    (https://docs.aws.amazon.com/sns/latest/dg/attribute-key-matching.html), so nothing keeps it.
    """
    _alarm(
        scope,
        construct_id,
        metric=cloudwatch.Metric(
            namespace="AWS/SNS",
            metric_name="NumberOfNotificationsFilteredOut-NoMessageAttributes",
            dimensions_map={"TopicName": topic.topic_name},
            period=PERIOD,
            statistic="Sum",
        ),
        alarms=alarms,
        meaning="A message without attributes was published, and SNS has dropped it. "
        "Its publisher must set kind, phone_number_id and lane.",
    )


def _alarm(
    scope: Construct,
    construct_id: str,
    *,
    metric: cloudwatch.Metric,
    alarms: sns.ITopic,
    meaning: str,
) -> None:
    alarm = cloudwatch.Alarm(
        scope,
        construct_id,
        metric=metric,
        threshold=0,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluation_periods=1,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=meaning,
    )
    alarm.add_alarm_action(actions.SnsAction(alarms))

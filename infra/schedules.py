"""The clock that starts the scheduled steps."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


def every_minute(scope: Construct, *, function: lambda_.IFunction) -> None:
    """Invoke a function each minute. A minute that fails is not repeated: the next one is near."""
    minute = Duration.minutes(1)
    events.Rule(
        scope,
        "EveryMinute",
        schedule=events.Schedule.rate(minute),
        targets=[targets.LambdaFunction(function, retry_attempts=0, max_event_age=minute)],
    )

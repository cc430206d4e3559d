"""The clock that starts the scheduled steps."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


def every_minute(scope: Construct, *, function: lambda_.IFunction) -> None:
    """Invoke a function each minute. A minute that fails is not repeated: the next one is near."""
    _every(scope, "EveryMinute", Duration.minutes(1), function)


def every_hour(scope: Construct, *, function: lambda_.IFunction) -> None:
    """Invoke a function each hour, likewise."""
    _every(scope, "EveryHour", Duration.hours(1), function)


def _every(
    scope: Construct, construct_id: str, period: Duration, function: lambda_.IFunction
) -> None:
    # A start or a wake that comes too late is worth nothing: the next one is near.
    function.configure_async_invoke(retry_attempts=0, max_event_age=Duration.minutes(1))
    events.Rule(
        scope,
        construct_id,
        schedule=events.Schedule.rate(period),
        targets=[
            targets.LambdaFunction(function, retry_attempts=0, max_event_age=Duration.minutes(1))
        ],
    )

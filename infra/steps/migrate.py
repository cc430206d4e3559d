"""``migrate``: brings the schema up to date at every deployment, before the code that needs it."""

from aws_cdk import Duration, triggers
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.foundation import Foundation
from infra.function import StepFunction

TIMEOUT_SECONDS = 900
"""The longest that Lambda and the deployment both wait."""


class Migrate(Construct):
    """The function and the trigger that runs it after the database can be signed in to."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        foundation: Foundation,
        after: list[Construct],
    ) -> None:
        super().__init__(scope, construct_id)
        step = StepFunction(
            self,
            "Step",
            step="migrate",
            foundation=foundation,
            variables={},
            timeout_seconds=TIMEOUT_SECONDS,
            memory_megabytes=512,
        )
        assert isinstance(step.function, lambda_.Function)
        triggers.Trigger(
            self,
            "Trigger",
            handler=step.function,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            execute_after=after,
        )

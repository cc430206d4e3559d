"""``restore``: a person runs it after the database was restored from a backup."""

from aws_cdk import Stack
from constructs import Construct

from infra.foundation import Foundation
from infra.function import StepFunction
from sluice import settings
from sluice.domain.limits import RESTORE_TIMEOUT_SECONDS


class Restore(Construct):
    """The function that reads the senders' journal, in their logs."""

    def __init__(self, scope: Construct, construct_id: str, *, foundation: Foundation) -> None:
        super().__init__(scope, construct_id)
        prefix = foundation.names.path("send-")
        self.step = StepFunction(
            self,
            "Step",
            step="restore",
            foundation=foundation,
            variables={settings.JOURNAL_PREFIX: prefix},
            timeout_seconds=RESTORE_TIMEOUT_SECONDS,
            memory_megabytes=1024,
            reserved_concurrency=1,
        )
        stack = Stack.of(self)
        self.step.allow(
            "logs:FilterLogEvents",
            on=[_log_groups(stack, f"{prefix}*:*"), _log_groups(stack, f"{prefix}*")],
        )
        # Finding groups by their names is asked of all of them.
        self.step.allow("logs:DescribeLogGroups", on=[_log_groups(stack, "*")])


def _log_groups(stack: Stack, name: str) -> str:
    return f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group:{name}"

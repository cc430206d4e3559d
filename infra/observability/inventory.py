"""What there is to watch, read from the stacks themselves, so that nothing is forgotten."""

from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import Stack, Token
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs

from infra.names import DEAD_SUFFIX, PARKED, UNDELIVERED_SUFFIX, UNROUTED


@dataclass(frozen=True)
class Inventory:
    """The queues, functions and logs of some stacks, by their full names."""

    queues: tuple[str, ...]
    functions: tuple[str, ...]
    log_groups: tuple[str, ...]

    @classmethod
    def of(cls, stacks: Iterable[Stack]) -> "Inventory":
        """Those of ours: the CDK's own helpers have no names, and run at deployments only."""
        resources = [node for stack in stacks for node in stack.node.find_all()]
        queues = {one.queue_name for one in resources if isinstance(one, sqs.CfnQueue)}
        functions = {one.function_name for one in resources if isinstance(one, lambda_.CfnFunction)}
        groups = {one.log_group_name for one in resources if isinstance(one, logs.CfnLogGroup)}
        return cls(queues=_named(queues), functions=_named(functions), log_groups=_named(groups))

    @property
    def dead(self) -> tuple[str, ...]:
        """Where messages end that a function failed on."""
        return tuple(name for name in self.queues if _word(name) == DEAD_SUFFIX)

    @property
    def undelivered(self) -> tuple[str, ...]:
        """Where messages end that the topic could not deliver."""
        return tuple(name for name in self.queues if _word(name) == UNDELIVERED_SUFFIX)

    @property
    def parked(self) -> tuple[str, ...]:
        """Where messages end that no retry can help."""
        return tuple(name for name in self.queues if _word(name) == PARKED)

    @property
    def unrouted(self) -> tuple[str, ...]:
        """Where messages end that nothing is subscribed to."""
        return tuple(name for name in self.queues if _word(name) == UNROUTED)

    @property
    def work(self) -> tuple[str, ...]:
        """The queues that functions work on."""
        apart = {*self.dead, *self.undelivered, *self.parked, *self.unrouted}
        return tuple(name for name in self.queues if name not in apart)


def _named(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name and not Token.is_unresolved(name)))


def _word(queue: str) -> str:
    """The last word of a queue's name."""
    return queue.removesuffix(".fifo").rpartition("-")[2]

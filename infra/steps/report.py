"""``report``: answers how a campaign stands, to whoever may invoke it."""

from constructs import Construct

from infra.foundation import Foundation
from infra.function import StepFunction

TIMEOUT_SECONDS = 30


class Report(Construct):
    """The function that the command line asks."""

    def __init__(self, scope: Construct, construct_id: str, *, foundation: Foundation) -> None:
        super().__init__(scope, construct_id)
        self.step = StepFunction(
            self,
            "Step",
            step="report",
            foundation=foundation,
            variables={},
            timeout_seconds=TIMEOUT_SECONDS,
            memory_megabytes=256,
        )

"""``reconcile``: every minute, what is stuck, what is unknown, what is finished."""

from constructs import Construct

from infra.foundation import Foundation
from infra.function import StepFunction
from infra.schedules import every_minute
from infra.steps.dispatch import Dispatch
from sluice import settings
from sluice.domain.limits import RECONCILE_TIMEOUT_SECONDS


class Reconcile(Construct):
    """The function that ends what nothing else ends."""

    def __init__(
        self, scope: Construct, construct_id: str, *, foundation: Foundation, dispatch: Dispatch
    ) -> None:
        super().__init__(scope, construct_id)
        step = StepFunction(
            self,
            "Step",
            step="reconcile",
            foundation=foundation,
            variables={
                settings.DISPATCH_FUNCTION: dispatch.step.live_name,
                settings.FREQUENCY_CAP: foundation.stage.frequency_cap_json,
            },
            timeout_seconds=RECONCILE_TIMEOUT_SECONDS,
            memory_megabytes=512,
            reserved_concurrency=1,
        )
        dispatch.allow_wake(step)
        every_minute(self, function=step.live)

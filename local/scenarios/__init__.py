"""The scenarios of ``make run``, by name: seven days of one campaign, and five stories."""

from typing import Final

from local.scenarios.aftermath import AFTERMATH
from local.scenarios.conversation import CONVERSATION
from local.scenarios.held import HELD
from local.scenarios.launch import LAUNCH
from local.scenarios.limits import LIMITS_SCENARIO
from local.scenarios.model import Scenario
from local.scenarios.weather import (
    CALM,
    MEXICO_AND_BRAZIL_DAY,
    NUMBER_LOST,
    RESTART,
    TEMPLATE_PAUSED,
    THROTTLED,
    TIMEOUTS,
)

SCENARIOS: Final[dict[str, Scenario]] = {
    scenario.name: scenario
    for scenario in (
        CALM,
        THROTTLED,
        TIMEOUTS,
        TEMPLATE_PAUSED,
        NUMBER_LOST,
        MEXICO_AND_BRAZIL_DAY,
        RESTART,
        LAUNCH,
        LIMITS_SCENARIO,
        CONVERSATION,
        HELD,
        AFTERMATH,
    )
}

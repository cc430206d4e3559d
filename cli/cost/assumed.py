"""What no local run can measure: each figure with its reason, in one place to be corrected."""

from collections.abc import Mapping
from typing import Final

from sluice.settings import FUNCTION_VARIABLES

HOURS_A_MONTH: Final = 730
MINUTES_A_MONTH: Final = HOURS_A_MONTH * 60

MEMORY_MEGABYTES: Final[Mapping[str, int]] = {
    **dict.fromkeys(FUNCTION_VARIABLES, 512),
    "send": 1_024,
    "campaign": 1_024,
    "restore": 1_024,
    "export": 1_769,
    "redrive": 256,
    "schedule": 256,
}
"""As deployed; a test holds it to the templates."""
RUNS_A_MONTH: Final[Mapping[str, int]] = {
    **dict.fromkeys(("dispatch", "reconcile", "redrive"), MINUTES_A_MONTH),
    "erase": HOURS_A_MONTH,
}
"""Of what the clock starts."""

PACE_SHARE: Final = 0.98
"""Of its pace that a sender reaches while it has work: bench/rate.py."""
LOAD_SECONDS_PER_MILLION: Final = 17.0
"""To load an audience: bench/load.py."""
CAPACITY_HOURS_PER_MILLION: Final = 1.5
"""Aurora over its minimum. 12 to 16 statements' worth of rows a message; on two cores (about 4
units) a million rows are loaded in 17 s, claimed and recorded in 100 s, three million statuses
applied in 60 s: 0.2 unit-hours, and as much again several times over, because it scales in steps,
and down only slowly."""
INPUTS_OUTPUTS_PER_MESSAGE: Final = 1.0
"""Aurora writes logs of 4 KB, and commits here are of many rows: seven changes of about 256 bytes
(bench/status.py) are half of one, and pages that are read again the rest."""
STORAGE_GIGABYTES: Final = 10.0
"""About 30 million deliveries with their recipients."""
META_KILOBYTES_UP: Final = 2.0
META_KILOBYTES_DOWN: Final = 2.0
"""A request with its headers, its answer, on a connection that is kept."""

POLLS_A_MINUTE: Final = 15
"""Empty receives of an event source that waits: five pollers, 20 s each. Source: AWS Lambda,
scaling of SQS event sources; others measured the same."""
STANDARD_BATCH_STATUSES: Final = 100
"""A standard queue gathers for a second; a FIFO queue gives ten messages at most."""
SQS_RECEIVE_MESSAGES_MAX: Final = 10
SECRET_SECONDS: Final = 300
"""How long an environment believes a secret."""
ENVIRONMENTS: Final = 10
"""That ask, on average, while something runs."""

ALARM_METRICS: Final = (89, 16)
COMPOSITE_ALARMS: Final = (8, 0)
SECRETS: Final = (3, 0)
KEYS: Final = (2, 0)
DASHBOARDS: Final = (2, 0)
DASHBOARDS_FREE: Final = 3
"""Of a stage with one bucket, and of each number; a test holds them to the templates."""
QUEUES_WITH_EVENT_SOURCE: Final = (8, 2)
FIFO_QUEUES_WITH_EVENT_SOURCE: Final = 1
"""The statuses, among those, unless they have a standard queue."""
ROUTES: Final = (7, 1)
"""Dead-letter queues that redrive looks into each minute."""

"""Builds each function's ports, once, when they are asked for; nothing happens at import.

Every import of an adapter stands in the function that needs it, so that a function loads only
what it uses.
"""

from sluice.wiring.environment import (
    SettingMissingError,
    phone_number_id,
    require,
    setting,
    slot_pace,
)
from sluice.wiring.machine import (
    clock,
    dice,
    telemetry,
)
from sluice.wiring.postgres import (
    campaigns,
    claims,
    database,
    loads,
    picks,
    reconciliations,
    reports,
    signals,
    stages,
    statuses,
    stops,
    suppressions,
)
from sluice.wiring.services import (
    audiences,
    campaign_queue,
    cloud_api,
    command_queue,
    configuration,
    inbox,
    numbers,
    parking,
    routes,
    secrets,
    topic,
    waker,
    webhook_outbox,
    webhook_secrets,
)

__all__ = [
    "SettingMissingError",
    "audiences",
    "campaign_queue",
    "campaigns",
    "claims",
    "clock",
    "cloud_api",
    "command_queue",
    "configuration",
    "database",
    "dice",
    "inbox",
    "loads",
    "numbers",
    "parking",
    "phone_number_id",
    "picks",
    "reconciliations",
    "reports",
    "require",
    "routes",
    "secrets",
    "setting",
    "signals",
    "slot_pace",
    "stages",
    "statuses",
    "stops",
    "suppressions",
    "telemetry",
    "topic",
    "waker",
    "webhook_outbox",
    "webhook_secrets",
]

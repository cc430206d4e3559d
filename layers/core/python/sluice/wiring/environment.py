"""The variables that this function was told: the only reader of the environment."""

import json
import os
from typing import TYPE_CHECKING

from sluice import settings
from sluice.domain.frequency import FrequencyCap

if TYPE_CHECKING:
    from sluice.domain.lanes import Lane, SlotPace


class SettingMissingError(RuntimeError):
    """A function is not told a variable that it needs."""


def require(step: str) -> None:
    """Raise SettingMissingError, naming every variable that the step needs and is not told."""
    missing = [name for name in settings.FUNCTION_VARIABLES[step] if not os.environ.get(name)]
    if missing:
        raise SettingMissingError(f"{step} is not told {', '.join(missing)}")


def setting(name: str) -> str:
    """Return a variable. Raises SettingMissingError with its name."""
    value = os.environ.get(name)
    if not value:
        raise SettingMissingError(f"{name} is not set")
    return value


def phone_number_id() -> str:
    """Return the number of this sender."""
    return setting(settings.PHONE_NUMBER_ID)


def lane() -> "Lane":
    """Return the lane of this sender."""
    from sluice.domain.lanes import LANES

    known: dict[str, Lane] = {name: name for name in LANES}
    return known[setting(settings.LANE)]


def exports_bucket() -> str:
    """Return the bucket of exports."""
    return setting(settings.EXPORTS_BUCKET)


def retention_days() -> int | None:
    """Return how old what is over may become; None: it is kept for ever."""
    text = setting(settings.RETENTION_DAYS)
    return None if text == "null" else int(text)


def template_check() -> str:
    """Return how strictly a campaign's template is held to Meta's."""
    return setting(settings.TEMPLATE_CHECK)


def approval_above() -> int | None:
    """Return to how many people a campaign may go without an approval; None: to any number."""
    above = json.loads(setting(settings.APPROVAL_ABOVE_RECIPIENTS))
    return None if above is None else int(above)


def slot_sends_per_second() -> float:
    """Return the most that this slot may send, whatever the other lane does."""
    return float(setting(settings.SLOT_SENDS_PER_SECOND_LENT))


def slot_pace() -> "SlotPace":
    """Return the pace of this slot, at the beginning of an invocation."""
    from sluice.domain.lanes import SlotPace

    return SlotPace(
        lane=lane(),
        slots=int(setting(settings.SLOTS)),
        own_per_second=float(setting(settings.SLOT_SENDS_PER_SECOND)),
        lent_per_second=slot_sends_per_second(),
    )


def frequency_cap() -> FrequencyCap | None:
    """Return how often a person may get marketing; None: as often as campaigns want."""
    return FrequencyCap.parse(setting(settings.FREQUENCY_CAP))

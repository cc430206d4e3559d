"""The variables that this function was told: the only reader of the environment."""

import os

from sluice import settings


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


def slot_sends_per_second() -> float:
    """Return the rate of this slot."""
    return float(setting(settings.SLOT_SENDS_PER_SECOND))

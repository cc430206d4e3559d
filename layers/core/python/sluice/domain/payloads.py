"""Values of webhooks, read without trust: any field may be absent, or of another kind."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sluice.domain.delivery import moment_of
from sluice.domain.suppressions import key_of_identity

CONTACT: Final = ("wa_id", "user_id", "parent_user_id")
SENDER: Final = ("from", "from_user_id", "from_parent_user_id")
"""Where a contact, and a message, say who the person is; each may be absent."""
_NAME_CHARACTERS_MAX: Final = 512


def as_object(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_objects(values: object) -> list[Mapping[str, Any]]:
    """The objects of a list, without whatever else is in it."""
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def as_name(value: object) -> str | None:
    """Text that the database takes; Meta's names of things are plain."""
    plain = isinstance(value, str) and 0 < len(value) <= _NAME_CHARACTERS_MAX
    return value if isinstance(value, str) and plain and value.isprintable() else None


def as_upper(value: object) -> str:
    """A name in upper case; Meta's own documents differ in it."""
    return (as_name(value) or "").upper()


def moment_until(timestamp: object, latest: datetime) -> datetime:
    """A Unix timestamp as a time, never after ``latest``, which also stands in for none."""
    return min(moment_of(timestamp) or latest, latest)


def keys_of(
    person: Mapping[str, Any], names: Sequence[str], value: Mapping[str, Any]
) -> tuple[str, ...]:
    """Every match key of a person: its own, and those of the contact that shares one with it."""
    keys = keys_in(person, names)
    for contact in as_objects(value.get("contacts")):
        known = keys_in(contact, CONTACT)
        if keys & known:
            keys |= known
    return tuple(sorted(keys))


def keys_in(person: Mapping[str, Any], names: Sequence[str]) -> set[str]:
    """The match keys under these names."""
    return {key for name in names if (key := key_of_identity(person.get(name))) is not None}

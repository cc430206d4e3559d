"""Roll back: let functions work as they did before their latest deployment.

Everything invokes a function by its alias ``live``. A deployment gives it a new version, and keeps
the earlier ones. The schema of the database is never rolled back: migrations only go forward, and
what was deployed before works with them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

LIVE: Final = "live"
DEPLOYMENT_MAX: Final = timedelta(hours=1)
"""Versions that were made within so long of each other are of one deployment."""

Client = Callable[[str], Any]
"""``client("lambda")`` gives boto3's client of that service."""


@dataclass(frozen=True)
class RolledBack:
    """A function, and the versions that its alias had and has."""

    function: str
    was: int
    now: int


@dataclass(frozen=True)
class NotRolledBack:
    """A function that stays as it is, and why."""

    function: str
    reason: str


@dataclass(frozen=True)
class _Function:
    """A function with an alias: the version that it has, and when each that is kept was made."""

    name: str
    was: int
    made_at: Mapping[int, datetime]

    @property
    def latest_at(self) -> datetime:
        return self.made_at[max(self.made_at)]


def rollback(
    stage: str, *, client: Client, function: str | None = None, further: bool = False
) -> list[RolledBack | NotRolledBack]:
    """Point the alias of each function that was deployed last at the version before its latest.

    What that deployment did not change stays: its latest version is older. ``function`` is one of
    the stage's, without ``sluice-<stage>-``, or the beginning of some: ``send-106540352242922`` are
    both lanes of a number. Again, it changes nothing: whoever repeats it because the answer was
    lost must not lose two deployments. ``further`` goes back one more.
    """
    functions, prefix = client("lambda"), f"sluice-{stage}-"
    names = sorted(
        one["FunctionName"]
        for page in functions.get_paginator("list_functions").paginate()
        for one in page["Functions"]
        if one["FunctionName"].startswith(prefix + (function or ""))
    )
    chosen = [found for name in names if (found := _function(functions, name))]
    if not chosen:
        return []
    deployed_at = max(one.latest_at for one in chosen)
    return [
        _back(functions, one, further=further)
        if one.latest_at + DEPLOYMENT_MAX >= deployed_at
        else NotRolledBack(one.name, f"the latest deployment left version {one.was} as it was")
        for one in chosen
    ]


def _function(functions: Any, name: str) -> _Function | None:
    """Read one function; None: it has no alias, nothing but a deployment runs it."""
    try:
        was = int(functions.get_alias(FunctionName=name, Name=LIVE)["FunctionVersion"])
    except functions.exceptions.ResourceNotFoundException:
        return None
    pages = functions.get_paginator("list_versions_by_function").paginate(FunctionName=name)
    made_at = {
        int(one["Version"]): datetime.fromisoformat(one["LastModified"])
        for page in pages
        for one in page["Versions"]
        if one["Version"].isdigit()
    }
    return _Function(name, was, made_at)


def _back(functions: Any, one: _Function, *, further: bool) -> RolledBack | NotRolledBack:
    if one.was < max(one.made_at) and not further:
        return NotRolledBack(one.name, f"version {one.was} is behind the latest already")
    earlier = [version for version in one.made_at if version < one.was]
    if not earlier:
        return NotRolledBack(one.name, f"version {one.was} is the first that is kept")
    now = max(earlier)
    functions.update_alias(FunctionName=one.name, Name=LIVE, FunctionVersion=str(now))
    return RolledBack(one.name, one.was, now)

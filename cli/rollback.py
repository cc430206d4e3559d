"""Roll back: let functions work as they did before their latest deployment.

Everything invokes a function by its alias ``live``. A deployment gives it a new version, and keeps
the earlier ones. The schema of the database is never rolled back: migrations only go forward, and
what was deployed before works with them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

LIVE: Final = "live"

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


def rollback(
    stage: str, *, client: Client, function: str | None = None
) -> list[RolledBack | NotRolledBack]:
    """Point the alias of each function of the stage at the version before the one that it has.

    ``function`` is one of them, without ``sluice-<stage>-``, or the beginning of some:
    ``send-106540352242922`` are both lanes of a number. Again, it goes back one version further.
    """
    functions, prefix = client("lambda"), f"sluice-{stage}-"
    chosen = sorted(
        one["FunctionName"]
        for page in functions.get_paginator("list_functions").paginate()
        for one in page["Functions"]
        if one["FunctionName"].startswith(prefix + (function or ""))
    )
    done = (_back(functions, name) for name in chosen)
    return [one for one in done if one is not None]


def _back(functions: Any, name: str) -> RolledBack | NotRolledBack | None:
    """Roll one function back; None: it has no alias, nothing but a deployment runs it."""
    try:
        was = int(functions.get_alias(FunctionName=name, Name=LIVE)["FunctionVersion"])
    except functions.exceptions.ResourceNotFoundException:
        return None
    pages = functions.get_paginator("list_versions_by_function").paginate(FunctionName=name)
    versions = (one["Version"] for page in pages for one in page["Versions"])
    earlier = [int(one) for one in versions if one.isdigit() and int(one) < was]
    if not earlier:
        return NotRolledBack(name, f"version {was} is the first that is kept")
    now = max(earlier)
    functions.update_alias(FunctionName=name, Name=LIVE, FunctionVersion=str(now))
    return RolledBack(name, was, now)

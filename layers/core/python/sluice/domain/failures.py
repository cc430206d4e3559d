"""What may be told of an exception: its kind, its place, and words only where they hold no data.

The words of many exceptions repeat what somebody wrote: Postgres tells the row that it refuses
(DETAIL, CONTEXT), DuckDB the line of the file, pydantic the input, botocore the parameters.
Logs are read by more people than the database, and kept longer.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

CAUSES_MAX: Final = 4
SQL_CLASSES: Final = frozenset({
    "08", "0A", "23", "25", "28", "3D", "40", "42", "53", "55", "57", "58",
})  # fmt: skip
"""Of errors whose first line names tables, columns and constraints, never a value. Not 22: a value
that does not fit is told there. Source: PostgreSQL, error codes."""
_ABOUT_RIGHTS: Final = re.compile(r"Denied|Authori|NotFound|NonExistent|NoSuch|Throttl|KMS|Unavail")
"""Codes of AWS whose message names principals and resources, without which nobody can help."""


class FailedError(RuntimeError):
    """What a function failed with, in words that may be told."""


def withheld(error: BaseException) -> FailedError:
    """Return the error with its traceback, and without the words that may be somebody's data."""
    told = "; because of ".join(map(_told, _chain(error)))
    # Under its own name: who counts errors, or looks for one, does it by that.
    kind = type(type(error).__name__, (FailedError,), {})
    failed: FailedError = kind(told)
    return failed.with_traceback(error.__traceback__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if current is None:
            return
        yield current
        hidden = current.__suppress_context__
        current = current.__cause__ or (None if hidden else current.__context__)


def _told(error: BaseException) -> str:
    kind = type(error)
    words = _words(error)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return f"{name}: {words}" if words else name


def _words(error: BaseException) -> str:
    package = type(error).__module__.partition(".")[0]
    if package == "sluice":
        # Ours name things, never values.
        return str(error)
    if package == "psycopg":
        return _words_of_postgres(error)
    response = getattr(error, "response", None)
    if package == "botocore" and isinstance(response, dict):
        return _words_of_aws(error, response.get("Error", {}))
    return ""


def _words_of_postgres(error: Any) -> str:
    state = error.sqlstate
    if state is None:
        # From this side of the connection: where it leads, and why it does not.
        return str(error) if _is(error, "OperationalError") else ""
    first = error.diag.message_primary if state[:2] in SQL_CLASSES else None
    return " ".join(filter(None, (state, first)))


def _words_of_aws(error: Any, told: Mapping[str, Any]) -> str:
    code = str(told.get("Code"))
    message = str(told.get("Message")) if _ABOUT_RIGHTS.search(code) else None
    return " ".join(filter(None, (code, "of", str(error.operation_name), message)))


def _is(error: BaseException, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(error).__mro__)

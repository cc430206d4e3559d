"""What is wrong with something that somebody sent us, as a value."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where, and what.

    ``path`` has dots between its parts (``audience.recipients.3.address``) and is empty for the
    whole; ``message`` names no value of the input, so it may be logged.
    """

    path: str
    message: str

    def __str__(self) -> str:
        """``path: message``, or the message alone where it is about the whole."""
        return f"{self.path}: {self.message}" if self.path else self.message


def path_of(parts: Iterable[int | str]) -> str:
    """The path of a problem. A part that is no name, as fields and columns have, is not told."""
    return ".".join(
        str(part) if isinstance(part, int) or _NAME.fullmatch(part) else "(no name)"
        for part in parts
    )

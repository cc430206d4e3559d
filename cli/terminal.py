"""What commands print, and what they cannot use."""

from collections.abc import Sequence


class InputError(ValueError):
    """What the command was told cannot be used; the message says every reason."""


def as_text(lines: Sequence[str]) -> str:
    """The lines for a terminal."""
    return "\n".join(lines)

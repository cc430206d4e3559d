"""What commands print."""

from collections.abc import Sequence


def as_text(lines: Sequence[str]) -> str:
    """The lines for a terminal."""
    return "\n".join(lines)

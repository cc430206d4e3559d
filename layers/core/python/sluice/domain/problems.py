"""What is wrong with something that somebody sent us, as a value."""

from dataclasses import dataclass


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

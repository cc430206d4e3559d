"""How long an order waits for what it overtook."""

from typing import Final

from sluice.domain.carried import Again, Refused

PATIENCE_RECEIVES: Final = 5
RETRY_SECONDS: Final = 15
"""A command may overtake the campaign that it is about: it waits for it about a minute."""


def awaited(subject: str, receives: int) -> Again | Refused:
    """Wait for what is not there yet; after about a minute there is none."""
    if receives < PATIENCE_RECEIVES:
        return Again(RETRY_SECONDS, f"there is no {subject} yet")
    return Refused([f"there is no {subject}"])

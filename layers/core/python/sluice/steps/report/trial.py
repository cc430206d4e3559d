"""What became of a test."""

from typing import Any, Protocol


class Trials(Protocol):
    """What is known of tests."""

    def test(self, test: str) -> list[tuple[Any, ...]]:
        """Return (phone_number_id, recipient, state, status, code, variant) of each message."""


def trial_report(test: str, *, reports: Trials) -> dict[str, Any] | None:
    """Return what became of a test's messages; None: none of them is there yet."""
    rows = reports.test(test)
    if not rows:
        return None
    names = ("phone_number_id", "recipient", "state", "status", "error_code", "variant")
    return {"test": test, "messages": [dict(zip(names, row, strict=True)) for row in rows]}

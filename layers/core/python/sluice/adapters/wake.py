"""Waking the dispatcher before its schedule does."""

from typing import Any


class Waker:
    """Starts the dispatch function without waiting for it."""

    def __init__(self, client: Any, *, function: str) -> None:
        self._client = client
        self._function = function

    def wake(self) -> None:
        """Ask for a round now. Lost or doubled, it does no harm: the schedule comes anyway."""
        self._client.invoke(FunctionName=self._function, InvocationType="Event", Payload=b"{}")

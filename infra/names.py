"""The names of everything that another stack, or a person, must find.

Stacks agree on names instead of exporting values: an export that is in use cannot change.
"""

from dataclasses import dataclass
from typing import Final

DEAD_SUFFIX: Final = "dead"
"""What a function failed on too often; ``redrive`` reads it."""
UNDELIVERED_SUFFIX: Final = "undelivered"
"""What the topic could not deliver."""
PARKED: Final = "parked"
"""What no retry can help."""
UNROUTED: Final = "unrouted"
"""What the topic has no subscription for."""


@dataclass(frozen=True)
class Names:
    """The names in one stage."""

    stage: str

    @property
    def prefix(self) -> str:
        """What every name of this stage begins with."""
        return self.of("")

    def of(self, *words: str) -> str:
        """``sluice-<stage>-<word>-…``, for queues, functions and topics."""
        return "-".join(("sluice", self.stage, *words))

    def path(self, *words: str) -> str:
        """``/sluice/<stage>/<word>/…``, for parameters and secrets."""
        return "/".join(("/sluice", self.stage, *words))

    @property
    def topic(self) -> str:
        """The topic campaign-requests."""
        return self.of("campaign-requests")

    @property
    def inbound(self) -> str:
        """The topic of what people say back."""
        return self.of("inbound-messages")

    @property
    def alarms(self) -> str:
        """The topic that alarms go to."""
        return self.of("alarms")

    @property
    def schedules(self) -> str:
        """The group of schedules at EventBridge Scheduler."""
        return self.of("schedules")

    @property
    def webhook_api(self) -> str:
        """The parameter that has the id of the webhook's HTTP API."""
        return self.path("webhook", "api-id")

    @property
    def numbers_path(self) -> str:
        """Under which every number has a parameter."""
        return self.path("numbers")

    @property
    def routes_path(self) -> str:
        """Under which parameters describe every queue with a dead-letter queue, by its route."""
        return self.path("routes")

    @property
    def token_secret(self) -> str:
        """The access token of the Cloud API."""
        return self.path("token")[1:]

    @property
    def webhook_secret(self) -> str:
        """The app secrets and the verify token of the webhook."""
        return self.path("webhook")[1:]

    def database(self, what: str) -> str:
        """One fact of the data stack: its parameter."""
        return self.path("database", what)

    def send(self, phone_number_id: str, lane: str) -> str:
        """The route of a number's lane; also its queue and function, with a prefix."""
        return f"send-{phone_number_id}-{lane}"

"""What the signal step needs of the world outside: where to keep, whom to stop, whom to tell."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from sluice.domain.brakes import StopAccount, StopNumber
from sluice.domain.inbound import Answered, Heard, Inbound, Signal
from sluice.domain.suppressions import Scope, Suppression
from sluice.domain.told import TellTemplate


class Signals(Protocol):
    """Where signals are kept."""

    def keep(
        self, signals: Mapping[str, Signal], *, asking: Collection[str], now: datetime
    ) -> Sequence[str]:
        """Store signals by digest and return the fields of those that are new."""

    def to_do(self, digests: Collection[str]) -> set[str]:
        """Return those that were not acted upon."""

    def acted(self, digests: Collection[str], *, now: datetime) -> None:
        """Mark signals as acted upon."""


class Suppressions(Protocol):
    """Who gets no marketing."""

    def suppress(self, suppressions: Sequence[Suppression]) -> None:
        """Suppress people."""

    def lift(self, match_keys: Sequence[str], scope: Scope, *, source: str, at: datetime) -> None:
        """Lift what was said before."""


class Conversations(Protocol):
    """Who talks with which number."""

    def hear(self, heard: Sequence[Heard], *, now: datetime) -> None:
        """Write down who wrote to us."""

    def answered(self, wamids: Iterable[str]) -> dict[str, Answered]:
        """Return the messages of ours that have these wamids."""

    def move(self, old: Sequence[str], new: str) -> None:
        """Copy what is known of a person to the person's new key."""


class Subscribers(Protocol):
    """Who is told of what people say back."""

    def tell(self, replies: Sequence[tuple[Inbound, Answered | None]], *, now: datetime) -> None:
        """Publish replies; raises unless all of them were taken."""


class Stops(Protocol):
    """Pauses, in force at the next claim."""

    def stop_sending(
        self, phone_number_id: str, stop: StopNumber | StopAccount, *, now: datetime
    ) -> bool:
        """Stop the number, its account or the whole app."""

    def pause_numbers(self, account_id: str, *, until: datetime, reason: str) -> int:
        """Stop every number of the account."""

    def resume_numbers(self, account_id: str, *, prefix: str) -> int:
        """Let those go on whose reason begins so."""

    def pause_template(
        self, account_id: str, *, name: str, language: str | None, reason: str
    ) -> int:
        """Stop the campaigns with the template."""

    def pause_recategorised(self, account_id: str, *, name: str, language: str | None) -> int:
        """Stop the campaigns that took the template for utility."""

    def resume_template(self, account_id: str, *, name: str, language: str | None) -> int:
        """Let those go on that were stopped with it."""


class Limits(Protocol):
    """Daily limits of portfolios."""

    def tell(self, account_id: str, daily_limit: int | None, *, source: str, at: datetime) -> None:
        """Set the limit of the account's portfolio, unless a later word did."""


class Templates(Protocol):
    """Templates as Meta has them."""

    def tell(self, told: TellTemplate) -> None:
        """Take a word about a template, unless there is a newer one."""

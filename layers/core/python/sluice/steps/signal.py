"""Signal: keep what webhooks bring beside statuses, once each, and do what it asks for."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, assert_never

from sluice.domain.brakes import StopAccount, StopNumber
from sluice.domain.packing import deduplication_id, to_json
from sluice.domain.signals import (
    Action,
    Lift,
    PauseNumbers,
    PauseTemplate,
    ResumeNumbers,
    ResumeTemplate,
    StopSending,
    Suppress,
    actions_of,
)
from sluice.domain.suppressions import MARKETING, Scope, Suppression


class Signals(Protocol):
    """Where signals are kept."""

    def keep(
        self, signals: Mapping[str, Mapping[str, Any]], *, asking: Collection[str], now: datetime
    ) -> Sequence[str]:
        """Store signals by digest and return the fields of those that are new."""

    def to_do(self, digests: Collection[str]) -> set[str]:
        """Return those that were not acted upon."""

    def acted(self, digest: str, *, now: datetime) -> None:
        """Mark a signal as acted upon."""


class Suppressions(Protocol):
    """Who gets no marketing."""

    def suppress(self, suppressions: Sequence[Suppression]) -> None:
        """Suppress people."""

    def lift(self, match_key: str, scope: Scope, *, source: str, at: datetime) -> None:
        """Lift what was said before."""


class Stops(Protocol):
    """Pauses, in force at the next claim."""

    def pause_number(self, phone_number_id: str, *, until: datetime, reason: str) -> bool:
        """Stop the number."""

    def throttle_number(self, phone_number_id: str, *, now: datetime) -> None:
        """Halve its rate."""

    def pause_account(self, phone_number_id: str, *, until: datetime, reason: str) -> bool:
        """Stop every number of its account."""

    def pause_numbers(self, account_id: str, *, until: datetime, reason: str) -> int:
        """Stop every number of the account."""

    def resume_numbers(self, account_id: str, *, prefix: str) -> int:
        """Let those go on whose reason begins so."""

    def pause_template(
        self, account_id: str, *, name: str, language: str | None, reason: str
    ) -> int:
        """Stop the campaigns with the template."""

    def resume_template(self, account_id: str, *, name: str, language: str | None) -> int:
        """Let those go on that were stopped with it."""


@dataclass(slots=True)
class Heeded:
    """What a batch came to."""

    kept: Counter[str] = field(default_factory=Counter)
    """New signals by field. Brought again, they are not counted again."""
    actions: Counter[str] = field(default_factory=Counter)
    """By name, e.g. ``Suppress``."""
    stops: int = 0
    """Campaigns, numbers or accounts that were paused."""
    failures: list[Exception] = field(default_factory=list)
    """Of signals that must come again."""


@dataclass(frozen=True, slots=True)
class SignalKeeper:
    """Keeps signals first, then acts, then marks them: so none is lost between.

    Whoever dies before the mark acts again when the message comes again; each action done twice
    is done once. What is marked is left alone: an old pause that comes again pauses nothing.
    """

    signals: Signals
    suppressions: Suppressions
    stops: Stops

    def heed(
        self, batch: Iterable[Mapping[str, Any]], *, now: datetime, fatal: type[Exception]
    ) -> Heeded:
        """Keep a batch and act upon it; a signal that fails holds no other.

        A ``fatal`` error, which the next signal would meet too, passes through.
        """
        heeded = Heeded()
        by_digest = {deduplication_id(to_json(signal)): signal for signal in batch}
        if not by_digest:
            return heeded
        asked = {
            digest: actions
            for digest, signal in by_digest.items()
            if (actions := actions_of(signal, now=now))
        }
        heeded.kept.update(self.signals.keep(by_digest, asking=asked.keys(), now=now))
        to_do = self.signals.to_do(asked.keys()) if asked else set()
        for digest in (digest for digest in asked if digest in to_do):
            try:
                self._act(asked[digest], heeded, now)
                self.signals.acted(digest, now=now)
            except fatal:
                raise
            except Exception as error:  # noqa: BLE001 - reported; the others go on
                heeded.failures.append(error)
        return heeded

    def _act(self, actions: Sequence[Action], heeded: Heeded, now: datetime) -> None:
        for action in actions:
            heeded.stops += self._do(action, now)
            heeded.actions[type(action).__name__] += 1

    def _do(self, action: Action, now: datetime) -> int:
        """Do it, and return how much it stopped that a person may want to look at."""
        match action:
            case Suppress(keys=keys, reason=reason, source=source, at=at):
                self.suppressions.suppress(
                    [Suppression(key, MARKETING, reason, source, at) for key in keys]
                )
            case Lift(keys=keys, source=source, at=at):
                for key in keys:
                    self.suppressions.lift(key, MARKETING, source=source, at=at)
            case PauseTemplate(account_id=account, name=name, language=language, reason=reason):
                return self.stops.pause_template(
                    account, name=name, language=language, reason=reason
                )
            case ResumeTemplate(account_id=account, name=name, language=language):
                self.stops.resume_template(account, name=name, language=language)
            case PauseNumbers(account_id=account, until=until, reason=reason):
                return self.stops.pause_numbers(account, until=until, reason=reason)
            case ResumeNumbers(account_id=account, prefix=prefix):
                self.stops.resume_numbers(account, prefix=prefix)
            case StopSending(phone_number_id=number, stop=stop):
                return self._stop(number, stop, now)
            case _:
                assert_never(action)
        return 0

    def _stop(self, number: str, stop: StopNumber | StopAccount, now: datetime) -> int:
        if isinstance(stop, StopAccount):
            return int(self.stops.pause_account(number, until=stop.until, reason=stop.reason))
        if stop.slower:
            self.stops.throttle_number(number, now=now)
        paused = self.stops.pause_number(number, until=stop.until, reason=stop.reason)
        return int(paused and not stop.slower)

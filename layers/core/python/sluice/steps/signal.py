"""Signal: keep what webhooks bring beside statuses, once each, and do what it asks for."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, assert_never

from sluice.domain.brakes import StopNumber
from sluice.domain.halves import in_halves
from sluice.domain.heeding import (
    Conversations,
    Limits,
    Signals,
    Stops,
    Subscribers,
    Suppressions,
    Templates,
)
from sluice.domain.inbound import (
    Heard,
    Inbound,
    Signal,
    digest_of,
    heard_in,
    inbound_of,
    one_by_one,
)
from sluice.domain.signals import (
    Action,
    PauseNumbers,
    PauseRecategorised,
    PauseTemplate,
    ResumeNumbers,
    ResumeTemplate,
    SetDailyLimit,
    StopSending,
    WarnOfQuality,
    actions_of,
)
from sluice.domain.suppressions import MARKETING, Suppression
from sluice.domain.told import TellTemplate
from sluice.domain.wishes import Lift, Move, Suppress
from sluice.domain.words import Vocabulary

Part = TypeVar("Part")


@dataclass(slots=True)
class Heeded:
    """What a batch came to."""

    kept: Counter[str] = field(default_factory=Counter)
    """New signals by field. Brought again, they are not counted again."""
    actions: Counter[str] = field(default_factory=Counter)
    """By name, e.g. ``Suppress``."""
    replies: int = 0
    """Messages of people that subscribers were told of."""
    stops: int = 0
    """Campaigns, numbers or accounts that were paused, and templates that soon may be."""
    failures: dict[str, Exception] = field(default_factory=dict)
    """By queue message: those that must come again."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A signal that asks for something."""

    actions: Sequence[Action]
    heard: Sequence[Heard]
    inbound: Inbound | None


@dataclass(frozen=True, slots=True)
class SignalKeeper:
    """Keeps signals first, then acts, then marks them: so none is lost between.

    Whoever dies before the mark acts again when the message comes again; each action done twice
    is done once, but for subscribers, who are told twice. What is marked is left alone: an old
    pause that comes again pauses nothing.
    """

    signals: Signals
    suppressions: Suppressions
    conversations: Conversations
    subscribers: Subscribers
    stops: Stops
    vocabulary: Vocabulary
    limits: Limits
    templates: Templates

    def heed(
        self,
        messages: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        now: datetime,
        fatal: type[Exception],
    ) -> Heeded:
        """Keep the signals of queue messages (id to signals) and act upon them, all together.

        A signal that fails holds no other, and brings its own message again. A ``fatal`` error,
        which the next signal would meet too, passes through.
        """
        batch = _Batch(self, now, fatal)
        heeded = Heeded()
        origins = {
            digest_of(signal): (message_id, signal)
            for message_id, signals in messages.items()
            for whole in signals
            for signal in one_by_one(whole)
        }
        if origins:
            batch.run({digest: signal for digest, (_, signal) in origins.items()}, heeded)
        heeded.failures = {origins[digest][0]: error for digest, error in batch.failures.items()}
        return heeded


@dataclass(slots=True)
class _Batch:
    """One batch on its way; whatever fails leaves it, and is not marked."""

    keeper: SignalKeeper
    now: datetime
    fatal: type[Exception]
    failures: dict[str, Exception] = field(default_factory=dict)

    def run(self, signals: Mapping[str, Signal], heeded: Heeded) -> None:
        tasks = {
            digest: task
            for digest, signal in signals.items()
            if (task := self._task(signal)) is not None
        }
        self._keep(signals, tasks.keys(), heeded)
        asked = tasks.keys() - self.failures.keys()
        to_do = self.keeper.signals.to_do(asked) if asked else set()
        # In the order of the messages: of two pauses the later one tells its reason.
        waiting = {digest: task for digest, task in tasks.items() if digest in to_do}
        self._hear(waiting)
        for digest, task in self._left(waiting):
            self._act(digest, task, heeded)
        self._tell(waiting, heeded)
        done = [digest for digest, _ in self._left(waiting)]
        if done:
            self.keeper.signals.acted(done, now=self.now)

    def _task(self, signal: Signal) -> _Task | None:
        actions = actions_of(signal, now=self.now, vocabulary=self.keeper.vocabulary)
        heard, inbound = heard_in(signal, now=self.now), inbound_of(signal)
        wanted = actions or heard or inbound
        return _Task(actions, heard, inbound) if wanted else None

    def _keep(self, signals: Mapping[str, Signal], asking: Collection[str], heeded: Heeded) -> None:
        kept = self._together(
            list(signals),
            lambda part: self.keeper.signals.keep(
                {digest: signals[digest] for digest in part}, asking=asking, now=self.now
            ),
        )
        heeded.kept.update(name for names in kept for name in names)

    def _hear(self, waiting: Mapping[str, _Task]) -> None:
        """Before anybody is told: an answer must find the conversation open."""
        talking = [digest for digest, task in waiting.items() if task.heard]
        self._together(
            talking,
            lambda part: self.keeper.conversations.hear(
                [one for digest in part for one in waiting[digest].heard], now=self.now
            ),
        )

    def _act(self, digest: str, task: _Task, heeded: Heeded) -> None:
        try:
            for action in task.actions:
                heeded.stops += _do(self.keeper, action, self.now)
                heeded.actions[type(action).__name__] += 1
        except self.fatal:
            raise
        except Exception as error:  # noqa: BLE001 - reported; the others go on
            self.failures[digest] = error

    def _tell(self, waiting: Mapping[str, _Task], heeded: Heeded) -> None:
        """Last of all, so that what fails before tells nobody again and again."""
        replies = {digest: task.inbound for digest, task in self._left(waiting) if task.inbound}
        if not replies:
            return
        try:
            contexts = {one.context for one in replies.values() if one.context}
            answered = self.keeper.conversations.answered(contexts) if contexts else {}
            self.keeper.subscribers.tell(
                [(one, answered.get(one.context or "")) for one in replies.values()],
                now=self.now,
            )
            heeded.replies += len(replies)
        except self.fatal:
            raise
        except Exception as error:  # noqa: BLE001 - the topic is away: they come again
            self.failures |= dict.fromkeys(replies, error)

    def _together(
        self, digests: Sequence[str], work: Callable[[Sequence[str]], Part]
    ) -> list[Part]:
        done, failed = in_halves(digests, work, fatal=self.fatal)
        self.failures |= dict(failed)
        return done

    def _left(self, waiting: Mapping[str, _Task]) -> Iterator[tuple[str, _Task]]:
        return ((digest, task) for digest, task in waiting.items() if digest not in self.failures)


def _do(keeper: SignalKeeper, action: Action, now: datetime) -> int:
    """Do it, and return how much it stopped that a person may want to look at."""
    stops = keeper.stops
    match action:
        case Suppress() | Lift() | Move():
            _obey(keeper, action)
        case PauseTemplate(account_id=account, name=name, language=language, reason=reason):
            return stops.pause_template(account, name=name, language=language, reason=reason)
        case PauseRecategorised(account_id=account, name=name, language=language):
            return stops.pause_recategorised(account, name=name, language=language)
        case ResumeTemplate(account_id=account, name=name, language=language):
            stops.resume_template(account, name=name, language=language)
        case WarnOfQuality():
            return 1
        case PauseNumbers(account_id=account, until=until, reason=reason):
            return stops.pause_numbers(account, until=until, reason=reason)
        case ResumeNumbers(account_id=account, prefix=prefix):
            stops.resume_numbers(account, prefix=prefix)
        case SetDailyLimit() | TellTemplate():
            _note(keeper, action)
        case StopSending(phone_number_id=number, stop=stop):
            stopped = stops.stop_sending(number, stop, now=now)
            return int(stopped and not (isinstance(stop, StopNumber) and stop.slower))
        case _:
            assert_never(action)
    return 0


def _obey(keeper: SignalKeeper, wish: Suppress | Lift | Move) -> None:
    match wish:
        case Suppress(keys=keys, reason=reason, source=source, at=at):
            keeper.suppressions.suppress(
                [Suppression(key, MARKETING, reason, source, at) for key in keys]
            )
        case Lift(keys=keys, source=source, at=at):
            keeper.suppressions.lift(keys, MARKETING, source=source, at=at)
        case Move(old=old, new=new):
            keeper.conversations.move(old, new)


def _note(keeper: SignalKeeper, word: SetDailyLimit | TellTemplate) -> None:
    match word:
        case SetDailyLimit(account_id=account, daily_limit=limit, source=source, at=at):
            keeper.limits.tell(account, limit, source=source, at=at)
        case TellTemplate():
            keeper.templates.tell(word)

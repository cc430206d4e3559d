"""What a report's details say of a campaign, from groups of its deliveries."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sluice.domain.cost import Kind
from sluice.domain.delivery import State, Status
from sluice.domain.error_rows import ERRORS
from sluice.domain.pricing import Pricing
from sluice.domain.results import SUPPRESSED, TOO_OFTEN, UNANSWERED, UNRENDERABLE, WINDOW_CLOSED

_OURS: Final[Mapping[int, str]] = {
    UNRENDERABLE: "the message could not be made of what the audience has",
    SUPPRESSED: "the person is suppressed, nothing was sent",
    WINDOW_CLOSED: "the person last wrote over a day ago, a template is needed",
    TOO_OFTEN: "the person has had all the marketing of the frequency cap",
    UNANSWERED: "the last answer was lost, and no attempt is left",
}
"""Meanings of our own codes, beside Meta's."""


class Group(NamedTuple):
    """Deliveries that are alike."""

    phone_number_id: str | None
    state: str
    status: str
    attempt: int
    error_code: int | None
    country_code: int | None
    pricing: int | None
    waits: bool
    """Somebody will come back to them."""
    deliveries: int
    variant: int = 0


class AnsweredError(NamedTuple):
    """How often Meta answered with a code, or told it in a status, with one example."""

    code: int
    answers: int
    example: str


@dataclass(frozen=True, slots=True)
class Details:
    """What the rows of a campaign say."""

    groups: Sequence[Group]
    errors: Sequence[AnsweredError]
    reasons: Sequence[tuple[str, int]]
    """Why audience lines were rejected, and how many; the most frequent first."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds that messages took: half of them, nine tenths, and all but one in a hundred."""

    messages: int
    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, messages: int, percentiles: Sequence[float] | None) -> "Spread | None":
        """The spread of the three percentiles; None where no message has both times."""
        return cls(messages, *(round(one, 3) for one in percentiles)) if percentiles else None


@dataclass(frozen=True, slots=True)
class Times:
    """How long messages of a sample took."""

    found: int
    """Deliveries of the sample that exist: a rejected line has none."""
    accepted_to_sent: Spread | None
    sent_to_delivered: Spread | None


def sample_of(positions: int, *, size: int) -> list[int]:
    """At most ``size`` of the positions 1 to ``positions``, evenly spaced."""
    step = max(1, -(-positions // size))
    return list(range(1, positions + 1, step))


@dataclass(frozen=True, slots=True)
class Billing:
    """Delivered messages, by what Meta told of their price. Others cost nothing."""

    billable: Mapping[Kind, int]
    free: int
    untold: int
    """No webhook of theirs told a price."""


def meaning_of(code: int) -> str:
    """A few words on an error code."""
    row = ERRORS.get(code)
    return row.meaning if row else _OURS.get(code, "not in the error table")


def attempts_of(groups: Iterable[Group]) -> dict[str, int]:
    """How many deliveries needed 1, 2, 3 … attempts until Meta took them."""
    needed: Counter[int] = Counter()
    for group in groups:
        if is_taken(group):
            needed[group.attempt] += group.deliveries
    return {str(attempt): needed[attempt] for attempt in sorted(needed)}


def first_attempt_success(groups: Iterable[Group]) -> float | None:
    """The share of attempted deliveries that the first attempt brought to Meta and beyond.

    Those that are not known yet, sending or unknown, are left out. None: there are no others.
    """
    attempted = succeeded = 0
    for group in groups:
        if group.attempt < 1 or group.state in (State.SENDING, State.UNKNOWN):
            continue
        attempted += group.deliveries
        succeeded += group.deliveries if group.attempt == 1 and is_taken(group) else 0
    return round(succeeded / attempted, 4) if attempted else None


def billing_of(groups: Iterable[Group]) -> Billing:
    """Each message counts once, when it is delivered or read: only then Meta charges it."""
    billable: Counter[Kind] = Counter()
    free = untold = 0
    for group in groups:
        if Status[group.status.upper()] < Status.DELIVERED:
            continue
        if group.pricing is None:
            untold += group.deliveries
        elif (pricing := Pricing.of(group.pricing)).billable:
            billable[Kind(group.country_code, pricing.category)] += group.deliveries
        else:
            free += group.deliveries
    return Billing(billable, free, untold)


def ended_by(groups: Iterable[Group]) -> Counter[int]:
    """How many deliveries ended with each code."""
    ended: Counter[int] = Counter()
    for group in groups:
        if group.error_code is not None and is_failed(group):
            ended[group.error_code] += group.deliveries
    return ended


def errors_of(groups: Sequence[Group], answered: Iterable[AnsweredError]) -> list[dict[str, Any]]:
    """Every code that came, with Meta's short meaning, the most frequent first."""
    told = {one.code: one for one in answered}
    ended = ended_by(groups)
    errors = [
        {
            "code": code,
            "meaning": meaning_of(code),
            "answers": told[code].answers if code in told else 0,
            "deliveries_ended": ended[code],
            "example": told[code].example if code in told else "",
        }
        for code in told.keys() | ended.keys()
    ]
    return sorted(errors, key=lambda error: (-error["answers"], -error["deliveries_ended"]))


def numbers_of(groups: Iterable[Group]) -> dict[str, dict[str, Any]]:
    """Of each number: attempts, first-attempt success, and with which codes deliveries ended."""
    own: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        if group.phone_number_id:
            own[group.phone_number_id].append(group)
    return {
        number: {
            "attempts": attempts_of(found),
            "first_attempt_success": first_attempt_success(found),
            "ended_by_code": {str(code): n for code, n in ended_by(found).most_common()},
        }
        for number, found in sorted(own.items())
    }


def count_where(groups: Iterable[Group], **wanted: object) -> int:
    """How many deliveries have these values."""
    return sum(
        group.deliveries
        for group in groups
        if all(getattr(group, name) == value for name, value in wanted.items())
    )


def is_taken(group: Group) -> bool:
    """Whether Meta took the messages, and did not give them up."""
    return group.state == State.DONE and group.status != Status.FAILED.label


def is_failed(group: Group) -> bool:
    """Whether the messages were refused for good, or given up."""
    return group.state == State.FAILED or (
        group.state == State.DONE and group.status == Status.FAILED.label
    )

"""What `conversation` promises: people are heard, answered at once, and left alone if they ask."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from local.judge.checks import Check, everybody, nobody, within

ANSWER_SECONDS: Final = 2.0
ANSWERED_SHARE: Final = 0.9
"""Of the answers: what is over is for environments that begin cold, and for a busy machine."""
STOP_SECONDS: Final = 4.0
"""From the word of a person until no message leaves any more."""
STOPPED_IN_TIME_MIN: Final = 20
"""If fewer were stopped before their message, nothing was shown."""


@dataclass(frozen=True)
class Stop:
    """Somebody who asked to stop during the campaign. Unix seconds."""

    person: str
    asked_at: float
    sent_at: float | None
    """When the campaign's message left; None: it never did."""


@dataclass(frozen=True)
class Talk:
    """What was seen of the conversations."""

    said: Collection[str]
    """Wamids of what people wrote while somebody listened."""
    told: Sequence[str]
    """Wamids that subscribers were told, in order, as often as they were."""
    answers: Mapping[str, str | None]
    """Of those who answered a message of the campaign: the wamid, and which campaign was named."""
    campaign: str
    asked: Collection[str]
    """Ids of the free-form answers that were published."""
    answer_seconds: Mapping[str, float]
    """By id: from the publication of an answer to its arrival at Meta, while bulk was full."""
    answered: Collection[str]
    """Ids of the answers that arrived."""
    stops: Sequence[Stop]
    talked: Mapping[str, str]
    """Who had written before to which number of the pool."""
    fixed: Mapping[str, str]
    """For whom the audience names a number."""
    sent_by: Mapping[str, Collection[str]]
    """By person: the numbers that sent the campaign's message."""


def conversation_checks(talk: Talk) -> tuple[Check, ...]:
    """Hold what was seen to what is promised."""
    return (
        everybody("subscribers hear every word once", talk.told, talk.said),
        _names_its_campaign(talk),
        everybody("everybody who asks is answered", talk.answered, talk.asked),
        _at_once(talk),
        _stopped(talk),
        _enough_stopped(talk),
        _by_its_number("whoever talks with a number of the pool stays with it", talk.talked, talk),
        _by_its_number("a number that the audience names sends", talk.fixed, talk),
    )


def _names_its_campaign(talk: Talk) -> Check:
    wrong = [wamid for wamid, named in talk.answers.items() if named != talk.campaign]
    return nobody(
        "no answer is told without the campaign that it answers", wrong, of=len(talk.answers)
    )


def _at_once(talk: Talk) -> Check:
    waited = sorted(talk.answer_seconds.values())
    name = f"nine of ten answers leave within {ANSWER_SECONDS:g} s, though bulk is full"
    if not waited:
        return Check(name, holds=False, found="nobody was answered meanwhile")
    ninth, median = (waited[int(len(waited) * share)] for share in (ANSWERED_SHARE, 0.5))
    found = f"{ninth:.2f} s; {len(waited)} answers, median {median:.2f} s, last {waited[-1]:.2f} s"
    return Check(name, ninth <= ANSWER_SECONDS, found)


def _stopped(talk: Talk) -> Check:
    late = [
        stop.person
        for stop in talk.stops
        if stop.sent_at is not None and stop.sent_at > stop.asked_at + STOP_SECONDS
    ]
    return nobody(
        f"nobody is sent to {STOP_SECONDS:g} s after asking to stop", late, of=len(talk.stops)
    )


def _enough_stopped(talk: Talk) -> Check:
    spared = sum(stop.sent_at is None for stop in talk.stops)
    return within(
        "who stopped before the message left gets none", spared,
        least=STOPPED_IN_TIME_MIN, most=len(talk.stops),
    )  # fmt: skip


def _by_its_number(name: str, expected: Mapping[str, str], talk: Talk) -> Check:
    wrong = [
        person
        for person, number in expected.items()
        if set(talk.sent_by.get(person, ())) != {number}
    ]
    return nobody(name, wrong, of=len(expected))

"""The journal of the senders: what they claimed and what became of it, kept outside the database.

A database that is restored is older than what was sent. The journal says what has left since. It
has ids only, in ranges: ``{"claimed": {"57": {"1": "1-40,45"}}, "phone_number_id": "…"}`` are the
positions 1 to 40 and 45 of campaign 57, each in its first attempt.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from sluice.domain.aftermath import Attempt
from sluice.domain.claim import Claimed, Key, Result
from sluice.domain.delivery import State

MARK: Final = "sluice.journal"
"""The message of a journal's line, by which it is found among the others."""


class Fate(StrEnum):
    """What the journal knows of an attempt."""

    CLAIMED = "claimed"
    """Written before its request leaves: so it may have left, whatever comes after."""
    ACCEPTED = "accepted"
    """Meta took it."""
    RETURNED = "returned"
    """It surely went to nobody: it was handed back, or Meta refused it."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What was noted of one attempt, and when."""

    attempt: Attempt
    fate: Fate
    phone_number_id: str
    at: datetime

    @property
    def key(self) -> Key:
        """The delivery."""
        return Key(self.attempt.campaign_id, self.attempt.seq)


def claimed(rows: Iterable[Claimed]) -> dict[str, Any]:
    """The fields of a line about claimed rows; empty, where there are none."""
    return _fields({Fate.CLAIMED: [Attempt(*row.key, row.attempt) for row in rows]})


def became(results: Iterable[Result]) -> dict[str, Any]:
    """The same about results; of an unknown one nobody knows whether it left."""
    known: dict[Fate, list[Attempt]] = {Fate.ACCEPTED: [], Fate.RETURNED: []}
    for result in results:
        if result.state is not State.UNKNOWN:
            fate = Fate.RETURNED if result.wamid is None else Fate.ACCEPTED
            known[fate].append(Attempt(*result.key, result.attempt))
    return _fields(known)


def noted_in(line: str, *, at: datetime) -> list[Noted]:
    """What a line of a sender's log notes; nothing, where it is no line of the journal."""
    try:
        entry = json.loads(line)
    except ValueError:
        return []
    if not isinstance(entry, Mapping) or entry.get("message") != MARK:
        return []
    number = str(entry["phone_number_id"])
    return [
        Noted(attempt, fate, number, at)
        for fate in Fate
        for attempt in _attempts(entry.get(fate.value) or {})
    ]


def latest(noted: Iterable[Noted]) -> dict[Key, Noted]:
    """What is last known of each delivery; ``noted`` is in the order of time.

    The latest attempt counts. That Meta took it is never taken back; one that was returned may be
    claimed again under the same number.
    """
    known: dict[Key, Noted] = {}
    for one in noted:
        before = known.get(one.key)
        if before is None or one.attempt.attempt > before.attempt.attempt:
            known[one.key] = one
        elif one.attempt == before.attempt and before.fate is not Fate.ACCEPTED:
            known[one.key] = replace(one, at=before.at)
    return known


def _fields(by_fate: Mapping[Fate, Sequence[Attempt]]) -> dict[str, Any]:
    return {fate.value: _told(attempts) for fate, attempts in by_fate.items() if attempts}


def _told(attempts: Iterable[Attempt]) -> dict[str, dict[str, str]]:
    ordered = sorted(attempts, key=lambda one: (one.campaign_id, one.attempt, one.seq))
    lines: dict[str, dict[str, str]] = {}
    for (campaign_id, attempt), group in groupby(
        ordered, lambda one: (one.campaign_id, one.attempt)
    ):
        ranges = ",".join(_ranges([one.seq for one in group]))
        lines.setdefault(str(campaign_id), {})[str(attempt)] = ranges
    return lines


def _attempts(lines: Mapping[str, Mapping[str, str]]) -> Iterator[Attempt]:
    for campaign_id, by_attempt in lines.items():
        for attempt, ranges in by_attempt.items():
            for seq in _seqs(ranges):
                yield Attempt(int(campaign_id), seq, int(attempt))


def _ranges(seqs: Sequence[int]) -> Iterator[str]:
    first = last = seqs[0]
    for seq in [*seqs[1:], None]:
        if seq == last + 1:
            last = seq
            continue
        yield str(first) if first == last else f"{first}-{last}"
        if seq is not None:
            first = last = seq


def _seqs(ranges: str) -> Iterator[int]:
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)

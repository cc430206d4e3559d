"""What is known about one send, and how knowledge about it is merged."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any, Final, Self, TypeGuard

from sluice.domain.pricing import pricing_of

INTEGER_MAX: Final = 2**31 - 1
SMALLINT_MAX: Final = 2**15 - 1


class State(StrEnum):
    """The dispatch state of a delivery: what the engine does with it."""

    PENDING = "pending"
    QUEUED = "queued"
    SENDING = "sending"
    UNKNOWN = "unknown"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Status(IntEnum):
    """What Meta said last about a message. The order is the rank: the higher one wins.

    ``expired`` is our own word: the time to live is over and Meta said nothing more, so whatever
    it says after all wins.

    ``failed`` may follow accepted or sent, and never covers delivered or read, which cover it:
    evidence that a person has the message outweighs a report that it could not be delivered.
    """

    NONE = 0
    HELD = 1
    ACCEPTED = 2
    SENT = 3
    EXPIRED = 4
    FAILED = 5
    DELIVERED = 6
    READ = 7

    @property
    def label(self) -> str:
        """The name as reports and metrics show it: ``delivered``."""
        return self.name.lower()


STATUS_OF_WEBHOOK: Final[Mapping[str, Status]] = {
    "sent": Status.SENT,
    "delivered": Status.DELIVERED,
    "read": Status.READ,
    "played": Status.READ,
    "failed": Status.FAILED,
}
"""The statuses that Meta documents; ``played`` is a voice message that was listened to."""


@dataclass(frozen=True, slots=True)
class OpaqueId:
    """Our id of one attempt: it goes out as ``biz_opaque_callback_data`` and comes back."""

    campaign_id: int
    seq: int
    attempt: int

    def __str__(self) -> str:
        """``campaign:seq:attempt``, e.g. ``12:40017:1``."""
        return f"{self.campaign_id}:{self.seq}:{self.attempt}"

    @classmethod
    def parse(cls, text: object) -> Self | None:
        """The id written as ``text``, or None for anything that ``str`` would not have written."""
        match = _OPAQUE_ID.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            return None
        campaign_id, seq, attempt = map(int, match.groups())
        if max(campaign_id, seq) > INTEGER_MAX or attempt > SMALLINT_MAX:
            return None
        return cls(campaign_id, seq, attempt)


_OPAQUE_ID: Final = re.compile(r"(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,4})")


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """What statuses say about one attempt: the highest rank, and when each kind came first."""

    campaign_id: int
    seq: int
    attempt: int
    status: Status
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    failed_at: datetime | None
    error_code: int | None
    wamid: str
    pricing: int | None = None
    """The code of what was told of its price."""

    @property
    def key(self) -> tuple[int, int, int]:
        """(campaign_id, seq, attempt): what it is merged, sorted and locked by."""
        return self.campaign_id, self.seq, self.attempt


@dataclass(frozen=True, slots=True)
class UnmatchedStatus:
    """A status without an id of ours: it is found by its wamid, or belongs to somebody else."""

    wamid: str
    status: Status
    at: datetime
    error_code: int | None
    pricing: int | None = None


def matched(status: UnmatchedStatus, key: tuple[int, int, int]) -> StatusUpdate:
    """The update that a status is, once its (campaign_id, seq, attempt) was found by its wamid."""
    return _single(OpaqueId(*key), status)


def reduce_updates(updates: Iterable[StatusUpdate]) -> list[StatusUpdate]:
    """One update for each attempt, sorted by (campaign_id, seq, attempt).

    The highest status, the earliest time of each kind, the error code of the failure and one
    pricing survive, in whatever order and however often the updates come.
    """
    groups: dict[tuple[int, int, int], list[StatusUpdate]] = defaultdict(list)
    for update in updates:
        groups[update.key].append(update)
    return [_merged(groups[key]) for key in sorted(groups)]


def _merged(group: Sequence[StatusUpdate]) -> StatusUpdate:
    if len(group) == 1:
        return group[0]
    first = group[0]
    return StatusUpdate(
        first.campaign_id,
        first.seq,
        first.attempt,
        max(update.status for update in group),
        _first(update.sent_at for update in group),
        _first(update.delivered_at for update in group),
        _first(update.read_at for update in group),
        _first(update.failed_at for update in group),
        min((u.error_code for u in group if u.error_code is not None), default=None),
        max(update.wamid for update in group),
        min((u.pricing for u in group if u.pricing is not None), default=None),
    )


def _first(moments: Iterable[datetime | None]) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


def update_of(status: Mapping[str, Any]) -> StatusUpdate | UnmatchedStatus | None:
    """A compact status of ``webhook.parse``, ready to be merged and written.

    Unmatched where it carries no id of ours; None where it is no status at all.
    """
    wamid, kind, at = status.get("id"), status.get("status"), moment_of(status.get("timestamp"))
    rank = STATUS_OF_WEBHOOK.get(kind) if isinstance(kind, str) else None
    if not is_wamid(wamid) or rank is None or at is None:
        return None
    error_code = error_code_of(status.get("errors")) if rank is Status.FAILED else None
    pricing = pricing_of(status.get("pricing"))
    single = UnmatchedStatus(wamid, rank, at, error_code, pricing.code if pricing else None)
    opaque_id = OpaqueId.parse(status.get("opaque"))
    return single if opaque_id is None else _single(opaque_id, single)


def _single(key: OpaqueId, one: UnmatchedStatus) -> StatusUpdate:
    status, at = one.status, one.at
    return StatusUpdate(
        key.campaign_id,
        key.seq,
        key.attempt,
        status,
        at if status is Status.SENT else None,
        at if status is Status.DELIVERED else None,
        at if status is Status.READ else None,
        at if status is Status.FAILED else None,
        one.error_code,
        one.wamid,
        one.pricing,
    )


WAMID_CHARACTERS_MAX: Final = 512


def is_wamid(value: object) -> TypeGuard[str]:
    """Whether this may be Meta's id of a message: printable ASCII, which any column takes."""
    if not isinstance(value, str) or not 0 < len(value) <= WAMID_CHARACTERS_MAX:
        return False
    return value.isascii() and value.isprintable()


def error_code_of(errors: object) -> int | None:
    """The code of the first error that has one, in ``errors[]`` as Meta or we write it."""
    for error in errors if isinstance(errors, list) else []:
        code = integer_of(error.get("code")) if isinstance(error, dict) else None
        if code is not None and abs(code) <= INTEGER_MAX:
            return code
    return None


_DIGITS_MAX: Final = 18
_MILLISECONDS_FROM: Final = 100_000_000_000
"""As seconds, the year 5138: a larger timestamp counts milliseconds."""
_EARLIEST: Final = datetime(2009, 1, 1, tzinfo=UTC)
"""WhatsApp exists since 2009."""
_LATEST: Final = datetime(2100, 1, 1, tzinfo=UTC)


def moment_of(timestamp: object) -> datetime | None:
    """A Unix timestamp, seconds (or milliseconds) as text or integer, as a time in UTC.

    None for anything else, and for years in which no message can have been sent.
    """
    number = integer_of(timestamp)
    if number is None or number < 0:
        return None
    seconds = number / 1000 if number >= _MILLISECONDS_FROM else number
    if seconds >= _LATEST.timestamp() or seconds < _EARLIEST.timestamp():
        return None
    return datetime.fromtimestamp(seconds, UTC)


def integer_of(value: object) -> int | None:
    """An integer of at most 18 digits, written as one or as text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value) if len(value) <= _DIGITS_MAX else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < 10**_DIGITS_MAX else None

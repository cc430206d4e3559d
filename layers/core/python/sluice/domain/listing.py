"""Lists of suppressions, line by line: whom a line names, or why it names nobody."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args

from sluice.domain.addresses import parse_address
from sluice.domain.audience import ADDRESS, Position, RejectedRow, are_text
from sluice.domain.exports import unmarked
from sluice.domain.limits import SUPPRESSION_REASON_CHARACTERS_MAX
from sluice.domain.problems import Problem
from sluice.domain.suppressions import Scope, Suppression, match_key

_SCOPES: Final = {scope: scope for scope in get_args(Scope)}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a line means where it does not say so itself."""

    scope: Scope
    reason: str
    source: str
    at: datetime
    """When it was said; no line says it later."""
    columns: frozenset[str] = frozenset()

    def row(self, seq: int, values: Mapping[str, str]) -> Suppression | RejectedRow:
        """Make a suppression of the values of a line: address, reason, scope, at."""
        if not are_text(values.values()):
            return RejectedRow(seq, "the line is not UTF-8 text")
        address = parse_address(values.get(ADDRESS, ""))
        if isinstance(address, Problem):
            return RejectedRow(seq, address.message)
        scope = _SCOPES.get(values.get("scope", "").strip() or self.scope)
        if scope is None:
            return RejectedRow(seq, f"scope is none of {', '.join(_SCOPES)}")
        at = _moment(values.get("at", "").strip(), self.at)
        if at is None:
            return RejectedRow(seq, "at is no time with an offset")
        reason = unmarked(values.get("reason", "").strip()) or self.reason
        if len(reason) > SUPPRESSION_REASON_CHARACTERS_MAX:
            return RejectedRow(seq, "reason is too long")
        return Suppression(match_key(address.value), scope, reason, self.source, at)


@dataclass(frozen=True, slots=True)
class StoredList:
    """A published list, as far as it has come."""

    request_hash: str
    etag: str | None
    position: Position
    created_at: datetime
    finished: bool


def _moment(text: str, latest: datetime) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if text else latest
    except ValueError:
        return None
    return min(moment, latest) if moment.tzinfo is not None else None

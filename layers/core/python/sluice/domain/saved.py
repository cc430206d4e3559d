"""Saved audiences: what is kept of them, and whom a line names."""

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.domain.addresses import parse_address
from sluice.domain.audience import ADDRESS, Position, RejectedRow, are_text
from sluice.domain.problems import Problem
from sluice.domain.suppressions import match_key


@dataclass(frozen=True, slots=True)
class Kept:
    """An audience as it was saved, as far as it has come."""

    audience_id: int
    request_hash: str
    s3: str
    is_ndjson: bool
    etag: str
    """What its file was then."""
    position: Position
    finished: bool
    dropped: bool


@dataclass(frozen=True, slots=True)
class Named:
    """Somebody in a saved audience."""

    match_key: str


@dataclass(frozen=True, slots=True)
class Naming:
    """What a saved audience needs of each line: somebody."""

    columns: frozenset[str] = frozenset()

    def row(self, seq: int, values: Mapping[str, str]) -> Named | RejectedRow:
        """Find who the values of a line name."""
        if not are_text(values.values()):
            return RejectedRow(seq, "the line is not UTF-8 text")
        address = parse_address(values.get(ADDRESS, ""))
        if isinstance(address, Problem):
            return RejectedRow(seq, address.message)
        return Named(match_key(address.value))


def why_unusable(audience: str, kept: Kept | None) -> str | None:
    """Why a campaign cannot use the saved audience yet, or any more."""
    if kept is None:
        return f"there is no audience {audience}"
    if kept.dropped:
        return f"audience {audience} was dropped"
    return None if kept.finished else f"audience {audience} is not saved yet"

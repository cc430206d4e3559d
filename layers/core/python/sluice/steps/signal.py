"""Signal: keep what webhooks bring beside statuses, once each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.packing import deduplication_id, to_json


class Signals(Protocol):
    """Where signals are kept."""

    def keep(self, signals: Mapping[str, Mapping[str, Any]], *, now: datetime) -> Sequence[str]:
        """Store signals by digest and return the fields of those that are new."""


def keep_signals(
    batch: Iterable[Mapping[str, Any]], *, signals: Signals, now: datetime
) -> Counter[str]:
    """Keep a batch and count the new ones by field. Brought again, they are not counted again."""
    by_digest = {deduplication_id(to_json(signal)): signal for signal in batch}
    return Counter(signals.keep(by_digest, now=now)) if by_digest else Counter()

"""Statuses and signals packed into queue messages of a bounded size."""

import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_ENVELOPE_BYTES: Final = len('{"statuses":[]}')
_TRUNCATED_ENVELOPE_BYTES: Final = 128
LISTS_MAX: Final = 8
"""Of a value, with more than one element. Meta's have three; each is split after the other."""
_ESCAPES_MAX: Final = 2
"""A JSON text inside a JSON text: each quote and backslash becomes two characters."""


def to_json(message: Mapping[str, Any]) -> str:
    """The message as it goes into a queue: compact, and ASCII, which every queue takes."""
    return json.dumps(message, separators=(",", ":"))


def deduplication_id(message_json: str) -> str:
    """SHA-256 of the message, in hex: the same webhook delivered twice is queued once."""
    return hashlib.sha256(message_json.encode()).hexdigest()


def pack(
    statuses: Sequence[Mapping[str, Any]], groups: int, bytes_max: int
) -> list[tuple[int, dict[str, Any]]]:
    """Statuses as ``(group, {"statuses": […]})``, each message at most ``bytes_max`` as JSON.

    The group, 0 to ``groups`` - 1, is a stable hash of our id, else of the wamid, so that the
    statuses of one message stay in order.
    """
    grouped: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for status in statuses:
        key = str(status.get("opaque") or status.get("id"))
        grouped[zlib.crc32(key.encode("utf-8", "surrogatepass")) % groups].append(status)
    return [
        (group, {"statuses": part})
        for group, members in sorted(grouped.items())
        for part in _parts(members, bytes_max)
    ]


def pack_signals(signals: Sequence[Mapping[str, Any]], bytes_max: int) -> list[dict[str, Any]]:
    """Signals as ``{"signals": […]}``, each message at most ``bytes_max`` as JSON.

    A signal that is too large is split at the longest list of its value, where it has no more
    lists than LISTS_MAX. What cannot be split keeps the beginning of its JSON, as
    ``{"truncated": "…"}``, and its size in ``"bytes"``.
    """
    room = bytes_max - _ENVELOPE_BYTES
    small = [part for signal in signals for part in _split(dict(signal), room)]
    return [{"signals": part} for part in _parts(small, bytes_max)]


def _parts(items: Sequence[Mapping[str, Any]], bytes_max: int) -> Iterator[list[Mapping[str, Any]]]:
    """Runs of items whose message fits. An item that does not fit goes alone."""
    part: list[Mapping[str, Any]] = []
    size = _ENVELOPE_BYTES
    for item in items:
        item_bytes = len(to_json(item)) + 1
        if part and size + item_bytes > bytes_max:
            yield part
            part, size = [], _ENVELOPE_BYTES
        part.append(item)
        size += item_bytes
    if part:
        yield part


def _split(signal: dict[str, Any], room: int) -> Iterator[dict[str, Any]]:
    size = len(to_json(signal)) + 1
    if size <= room:
        yield signal
        return
    value = signal.get("value", {})
    lists = [key for key, part in value.items() if isinstance(part, list) and len(part) > 1]
    if not 0 < len(lists) <= LISTS_MAX:
        yield _truncated(signal, size, room)
        return
    key = max(lists, key=lambda name: len(value[name]))
    middle = len(value[key]) // 2
    # The other lists go with the first half alone: nothing must be told twice.
    rest = {name: part for name, part in value.items() if not isinstance(part, list)}
    yield from _split({**signal, "value": {**value, key: value[key][:middle]}}, room)
    yield from _split({**signal, "value": {**rest, key: value[key][middle:]}}, room)


def _truncated(signal: Mapping[str, Any], size: int, room: int) -> dict[str, Any]:
    names = {
        key: part[:64] if isinstance(part := signal.get(key), str) else None
        for key in ("account", "field")
    }
    frame = {**names, "time": signal.get("time"), "value": {"truncated": "", "bytes": size}}
    left = max(0, (room - len(to_json(frame)) - _TRUNCATED_ENVELOPE_BYTES) // _ESCAPES_MAX)
    return frame | {"value": {"truncated": to_json(signal.get("value", {}))[:left], "bytes": size}}

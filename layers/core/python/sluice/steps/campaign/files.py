"""Files of people, read from where an earlier try ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sluice.domain.audience import (
    CsvHeader,
    Maker,
    Position,
    RejectedRow,
    csv_rows,
    ndjson_rows,
)
from sluice.domain.carried import Refused

Made = TypeVar("Made")


class Audiences(Protocol):
    """Files of recipients."""

    def etag(self, uri: str) -> str | None:
        """Return what identifies the content; None where there is no such object."""

    def size_bytes(self, uri: str) -> int:
        """Return how large a file is."""

    def lines(self, uri: str, *, etag: str, offset: int) -> Iterator[bytes] | None:
        """Yield lines from a byte on; None where the content is another one by now."""


@dataclass(frozen=True, slots=True)
class File(Generic[Made]):
    """An object in S3 with one content."""

    uri: str
    etag: str
    header: CsvHeader | None
    """None: NDJSON."""
    wanted: Maker[Made]
    audiences: Audiences

    def rows(self, position: Position) -> Iterator[Made | RejectedRow] | None:
        """Yield the rows from a position on, which they move; None: the content is another one."""
        lines = self.audiences.lines(self.uri, etag=self.etag, offset=position.offset)
        if lines is None:
            return None
        if self.header is None:
            return ndjson_rows(lines, self.wanted, position)
        if position.offset == 0:
            position.offset += len(next(lines))
            position.line += 1
        return csv_rows(lines, self.header, self.wanted, position)


def open_file(
    uri: str, wanted: Maker[Made], audiences: Audiences, *, path: str, ndjson: bool = False
) -> File[Made] | Refused:
    """Open a file and read its header. ``path`` is the field of the request that names it."""
    etag = audiences.etag(uri)
    lines = audiences.lines(uri, etag=etag, offset=0) if etag is not None else None
    if etag is None or lines is None:
        return Refused([f"{path}: {uri} does not exist or may not be read"])
    if ndjson:
        return File(uri, etag, None, wanted, audiences)
    header = CsvHeader.parse(next(lines, b""), wanted)
    if isinstance(header, CsvHeader):
        return File(uri, etag, header, wanted, audiences)
    return Refused([str(problem) for problem in header])

"""What an export writes: tables, cut into parts by position, and a manifest of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

Format = Literal["csv", "parquet"]
Type = Literal["integer", "text", "json", "timestamp"]
"""32 bits; UTF-8; a JSON object as text; microseconds in UTC."""

FORMULA_STARTS: Final = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)
"""A spreadsheet may take a cell that begins so for a formula. Source: OWASP, CSV injection."""
MARK: Final = "'"
"""Stands in the CSV before a text that begins with one of these, or with itself: take one away,
and the text is as it was."""

MANIFEST: Final = "manifest.json"


def unmarked(text: str) -> str:
    """A text as it was before it was marked for a CSV."""
    return (
        text[1:] if text.startswith(MARK) and text[1:].startswith((*FORMULA_STARTS, MARK)) else text
    )


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    type: Type
    free: bool = False
    """A text that others chose, which may begin with anything."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of an export; its first column is the position in the audience."""

    name: str
    columns: tuple[Column, ...]

    @property
    def folder(self) -> str:
        """Where its parts lie, below the export's prefix."""
        return f"{self.name}/"


RECIPIENT_COLUMNS: Final = (
    Column("seq", "integer"),
    # E.164 keeps its plus: digits make a number of it, never a formula.
    Column("address", "text"),
    Column("phone_number_id", "text"),
    # A name may begin with a minus.
    Column("variant", "text", free=True),
    Column("state", "text"),
    Column("status", "text"),
    Column("attempt", "integer"),
    Column("error_code", "integer"),
    Column("error_details", "text", free=True),
    Column("wamid", "text", free=True),
    Column("accepted_at", "timestamp"),
    Column("sent_at", "timestamp"),
    Column("delivered_at", "timestamp"),
    Column("read_at", "timestamp"),
    Column("failed_at", "timestamp"),
)
PARAMETERS: Final = Column("parameters", "json")
REJECTED: Final = Table(
    "rejected", (Column("line", "integer"), Column("reason", "text", free=True))
)
PLACES: Final = ("recipients/", REJECTED.folder, MANIFEST)
"""Everything that an export writes begins so, below its prefix."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a table from one position to another, both included."""

    table: Table
    first: int
    last: int

    def key(self, form: Format) -> str:
        """Its file, below the export's prefix; names sort as positions do."""
        name = f"part-{self.first:09d}-{self.last:09d}"
        return f"{self.table.folder}{form}/{name}.{form}"


@dataclass(frozen=True, slots=True)
class StoredExport:
    """An export as it began: what it is cut by, and how far the campaign was."""

    campaign_id: int
    request_hash: str
    last_seq: int
    campaign_state: str
    """running, paused, cancelled or finished; loading, before its audience is complete."""
    finished: bool
    """Every row was final already."""
    began_at: datetime


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is there."""

    rows: int
    size_bytes: int
    sha256: str


def recipients(names: Sequence[str] | None, *, parameters: bool) -> Table:
    """Return the table of people with these columns; None: all of them."""
    known = {column.name: column for column in RECIPIENT_COLUMNS}
    chosen = tuple(known[name] for name in (known if names is None else names))
    return Table("recipients", chosen + ((PARAMETERS,) if parameters else ()))


def parts_of(tables: Sequence[Table], *, last: int, rows: int) -> Iterator[Part]:
    """Cut positions 1 to ``last`` into parts of at most ``rows``, table by table."""
    for table in tables:
        for first in range(1, last + 1, rows):
            yield Part(table, first, min(first + rows - 1, last))


def manifest_of(
    *,
    campaign: str,
    export_id: str | None,
    stored: StoredExport,
    tables: Sequence[Table],
    files: Sequence[tuple[Part, Mapping[Format, StoredFile]]],
    written_at: datetime,
) -> dict[str, Any]:
    """Return what is written last: who finds it has everything that it names."""
    return {
        "campaign": campaign,
        "id": export_id,
        "campaign_state": stored.campaign_state,
        "finished": stored.finished,
        "began_at": stored.began_at.isoformat(),
        "written_at": written_at.isoformat(),
        "tables": [_table(table, files) for table in tables],
    }


def _table(
    table: Table, files: Sequence[tuple[Part, Mapping[Format, StoredFile]]]
) -> dict[str, Any]:
    parts = [_part(part, stored) for part, stored in files if part.table == table]
    return {
        "table": table.name,
        "columns": [{"name": column.name, "type": column.type} for column in table.columns],
        "rows": sum(part["rows"] for part in parts),
        "parts": parts,
    }


def _part(part: Part, stored: Mapping[Format, StoredFile]) -> dict[str, Any]:
    return {
        "first": part.first,
        "last": part.last,
        "rows": max(file.rows for file in stored.values()),
        "files": [
            {
                "format": form,
                "key": part.key(form),
                "bytes": file.size_bytes,
                "sha256": file.sha256,
            }
            for form, file in stored.items()
        ],
    }

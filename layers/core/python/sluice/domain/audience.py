"""Audience files, row by row: what may be sent, what is rejected and why, and where to resume."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from sluice.domain.addresses import is_in_the_united_states, parse_address
from sluice.domain.problems import Problem
from sluice.domain.split import NO_VARIANT, Sides
from sluice.domain.suppressions import match_key
from sluice.domain.texts import Text
from sluice.domain.windows import zone_names

ADDRESS: Final = "address"
NUMBER: Final = "phone_number_id"
TIME_ZONE: Final = "time_zone"
FIELD_CHARACTERS_MAX: Final = 8_192
"""A longer field is a quote that was never closed."""
_DELIMITERS: Final = ",;\t"
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class AudienceRow:
    """A recipient; ``seq`` is its line in the file (from 1), ``parameters`` what is filled in."""

    seq: int
    address: str
    parameters: Mapping[str, str]
    phone_number_id: str | None
    time_zone: str | None = None
    """IANA name; None: the campaign's, or no matter."""
    variant: int = NO_VARIANT
    """The person's side of the campaign's split (domain.split)."""


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A line that cannot be sent, and why; never its content."""

    seq: int
    reason: str


Row = AudienceRow | RejectedRow
Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)


class Maker(Protocol[Made_co]):
    """What the lines of a file are wanted for."""

    @property
    def columns(self) -> frozenset[str]:
        """Columns that the file must have beside the address."""

    def row(self, seq: int, values: Mapping[str, str]) -> Made_co | RejectedRow:
        """Make something of the values of a line."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a campaign needs of each row."""

    columns: frozenset[str]
    """Placeholders of the template: each needs a value."""
    numbers: tuple[str, ...]
    """The pool: a row may fix one of them."""
    timed: bool = False
    """The campaign has a window: a row may have a time zone of its own."""
    united_states: bool = True
    """Whether people there may be sent to."""
    texts: tuple[Text, ...] = ()
    """What each person is told: Meta must take it."""
    sides: Sides | None = None
    """What gives each person a variant."""

    def row(self, seq: int, values: Mapping[str, str]) -> Row:
        """Make a recipient of the values of a line."""
        if not are_text(values.values()):
            return RejectedRow(seq, "the line is not UTF-8 text")
        address = parse_address(values.get(ADDRESS, ""))
        if isinstance(address, Problem):
            return RejectedRow(seq, address.message)
        number = values.get(NUMBER, "").strip() or None
        zone = (self.timed and values.get(TIME_ZONE, "").strip()) or None
        reason = self._reason(address.value, values, number, zone)
        if reason is not None:
            return RejectedRow(seq, reason)
        parameters = {column: values[column] for column in self.columns}
        variant = self.sides.side(match_key(address.value)) if self.sides else NO_VARIANT
        return AudienceRow(seq, address.value, parameters, number, zone, variant)

    def _reason(
        self, address: str, values: Mapping[str, str], number: str | None, zone: str | None
    ) -> str | None:
        """Why the person cannot be sent to; None: nothing speaks against it."""
        if not self.united_states and is_in_the_united_states(address):
            return "marketing is not delivered to numbers of the United States"
        blank = sorted(column for column in self.columns if not values.get(column, "").strip())
        if blank:
            return f"no value for {', '.join(blank)}"
        if number is not None and number not in self.numbers:
            return f"{NUMBER} is not one of the campaign's numbers"
        if zone is not None and zone not in zone_names():
            return f"{TIME_ZONE} is not the name of an IANA time zone"
        return next(filter(None, (text.flaw(values) for text in self.texts)), None)


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The first line of a CSV file."""

    columns: tuple[str, ...]
    delimiter: str

    @classmethod
    def parse(cls, line: bytes, wanted: Maker[object]) -> "CsvHeader | list[Problem]":
        """Read the header; the delimiter is the one of ``, ; tab`` that it has most of."""
        try:
            text = line.decode("utf-8").removeprefix(_BOM).rstrip("\r\n")
        except UnicodeDecodeError:
            return [Problem("audience", "the file is not UTF-8")]
        delimiter = max(_DELIMITERS, key=text.count)
        try:
            names = next(csv.reader([text], delimiter=delimiter), [])
        except csv.Error as error:
            return [Problem("audience", f"the header is not CSV: {error}")]
        columns = tuple(name.strip() for name in names)
        missing = sorted({ADDRESS, *wanted.columns} - set(columns))
        problems = [Problem("audience", f"the header has no column {name}") for name in missing]
        if len(set(columns)) < len(columns):
            problems.append(Problem("audience", "the header names a column twice"))
        return problems or cls(columns, delimiter)


@dataclass(slots=True)
class Position:
    """Where a load stands: bytes and lines of the file that are behind it."""

    offset: int = 0
    line: int = 0


class _Counted:
    """Lines as text, moving a position along."""

    def __init__(self, lines: Iterator[bytes], position: Position) -> None:
        self._lines = lines
        self._position = position

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._position.offset += len(line)
        self._position.line += 1
        return line.decode("utf-8", "surrogateescape")


def csv_rows(
    lines: Iterator[bytes], header: CsvHeader, wanted: Maker[Made], position: Position
) -> Iterator[Made | RejectedRow]:
    """Yield the rows of ``lines`` (each with its line end), which begin at ``position``.

    After each row, ``position`` is the place where the next one begins, so a load may stop there.
    """
    csv.field_size_limit(FIELD_CHARACTERS_MAX)
    reader = csv.reader(_Counted(lines, position), delimiter=header.delimiter, strict=True)
    while True:
        seq = position.line + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield RejectedRow(seq, f"the line is not CSV: {error}")
            continue
        if len(fields) > len(header.columns):
            yield RejectedRow(seq, "the line has more fields than the header")
        elif any(field.strip() for field in fields):
            yield wanted.row(seq, dict(zip(header.columns, fields, strict=False)))


def ndjson_rows(
    lines: Iterator[bytes], wanted: Maker[Made], position: Position
) -> Iterator[Made | RejectedRow]:
    """Yield the rows of NDJSON: each line an object like an inline recipient."""
    for line in lines:
        position.offset += len(line)
        position.line += 1
        text = line.strip().removeprefix(_BOM.encode())
        if text:
            yield _object_row(position.line, text, wanted)


def inline_rows(recipients: Sequence[Mapping[str, object]], wanted: Wanted) -> Iterator[Row]:
    """Yield the rows of a request's own recipients; ``seq`` counts them from 1."""
    for seq, recipient in enumerate(recipients, start=1):
        yield wanted.row(seq, _values(recipient))


def _object_row(seq: int, text: bytes, wanted: Maker[Made]) -> Made | RejectedRow:
    try:
        recipient = json.loads(text)
    except (ValueError, RecursionError):
        return RejectedRow(seq, "the line is not JSON")
    if not isinstance(recipient, dict):
        return RejectedRow(seq, "the line is not a JSON object")
    return wanted.row(seq, _values(recipient))


def _values(recipient: Mapping[str, object]) -> dict[str, str]:
    parameters = recipient.get("parameters")
    values = {
        str(name): _as_text(value)
        for name, value in (parameters.items() if isinstance(parameters, Mapping) else ())
    }
    for name in (ADDRESS, NUMBER, TIME_ZONE):
        values[name] = _as_text(recipient.get(name))
    return values


def _as_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def are_text(values: Iterable[str]) -> bool:
    """Whether the database takes all of them: UTF-8 without NUL."""
    text = "".join(values)
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text

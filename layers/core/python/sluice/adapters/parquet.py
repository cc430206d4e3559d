"""CSV files of ours to Parquet, by DuckDB, in bounded memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb

from sluice.domain.exports import MARK, Column, Type
from sluice.domain.limits import (
    EXPORT_PARQUET_MEMORY_MEGABYTES,
    EXPORT_ROW_BYTES_MAX,
    EXPORT_ROW_GROUP_BYTES,
)

_TYPES: Final[Mapping[Type, str]] = {
    "integer": "INTEGER",
    "text": "VARCHAR",
    "json": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
}
_GROUP_ROWS: Final = (2_048, 122_880)
"""What DuckDB takes at least and by default."""
# Nothing is guessed: an empty field is null, an empty text stands in quotes.
_CONVERT: Final = """
COPY (
    SELECT {selected}
    FROM read_csv(
        $source, header = true, auto_detect = false, delim = ',', quote = '"', escape = '"',
        nullstr = '', allow_quoted_nulls = false, columns = {{{columns}}},
        max_line_size = {row_bytes_max}, buffer_size = 2 * {row_bytes_max}
    )
) TO {target} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group_rows})
"""


class Parquet:
    """Makes Parquet files."""

    def write(self, source: Path, target: Path, columns: Sequence[Column], *, rows: int) -> None:
        """Make ``target`` of the CSV ``source`` that has exactly these columns and rows.

        Marks before free texts are taken away. Times are UTC, with microseconds.
        """
        statement = _CONVERT.format(
            selected=", ".join(map(_selected, columns)),
            columns=", ".join(f"'{column.name}': '{_TYPES[column.type]}'" for column in columns),
            row_bytes_max=EXPORT_ROW_BYTES_MAX,
            group_rows=_group_rows(source.stat().st_size, rows),
            target=_quoted(str(target)),
        )
        with duckdb.connect(":memory:", config=_configuration(target.parent)) as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(statement, {"source": str(source)})


def _configuration(folder: Path) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "memory_limit": f"{EXPORT_PARQUET_MEMORY_MEGABYTES}MiB",
        "temp_directory": str(folder / "spilled"),
        "threads": 1,
        # Everything that is needed is in the wheel: nothing is ever fetched.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


def _group_rows(size_bytes: int, rows: int) -> int:
    """Return how many rows are held in memory together: fewer where they are long."""
    least, usual = _GROUP_ROWS
    return max(least, min(usual, EXPORT_ROW_GROUP_BYTES * rows // max(1, size_bytes)))


def _selected(column: Column) -> str:
    name = f'"{column.name}"'
    if not column.free:
        return name
    mark = _quoted(MARK)
    return f"CASE WHEN starts_with({name}, {mark}) THEN substr({name}, 2) ELSE {name} END AS {name}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

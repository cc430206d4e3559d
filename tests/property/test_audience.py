"""A load may stop after any row and go on later: the rows are the same as in one pass."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.domain.audience import (
    AudienceRow,
    CsvHeader,
    Position,
    RejectedRow,
    Wanted,
    csv_rows,
    ndjson_rows,
)

WANTED = Wanted(frozenset({"name"}), ("1", "2"))
HEADER = CsvHeader(("address", "name", "phone_number_id"), ",")
PIECES = st.sampled_from([
    "+12025550101", "+447700900102", ",", ",", "Ada", '"', '""', "\n", "\r\n", "\r", "\n\n",
    "\0", "ë", "🎉", " ", "1", ",2", "x" * 9_000,
])  # fmt: skip
FILES = st.one_of(
    st.lists(PIECES, max_size=60).map(lambda pieces: "".join(pieces).encode()),
    st.binary(max_size=200),
    st.lists(
        st.sampled_from([
            b"+12025550101,Ada,1\n", b'+12025550101,"a\nb",\n', b'+1,"never closed\n',
            b"\n", b"\xff,\n", b"+12025550101,Ada", b'+12025550101,"x"y,1\n', b",,,,\r\n",
        ]),
        max_size=30,
    ).map(b"".join),
)  # fmt: skip


def lines_from(content, offset):
    """Lines as the audience reader cuts them: at line feeds alone."""
    parts = content[offset:].split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return iter([*lines, parts[-1]] if parts[-1] else lines)


def csv_of(content, position):
    return csv_rows(lines_from(content, position.offset), HEADER, WANTED, position)


def ndjson_of(content, position):
    return ndjson_rows(lines_from(content, position.offset), WANTED, position)


def resumed_everywhere_is_the_same(rows_of, content):
    position, rows, places = Position(), [], []
    for row in rows_of(content, position):
        rows.append(row)
        places.append(Position(position.offset, position.line))
    for number, place in enumerate(places, start=1):
        assert list(rows_of(content, Position(place.offset, place.line))) == rows[number:]
    return position, rows


@settings(max_examples=300, deadline=None)
@given(FILES)
def test_a_csv_that_is_resumed_after_any_row_gives_the_same_rows(content):
    position, rows = resumed_everywhere_is_the_same(csv_of, content)

    assert position.offset == len(content)
    seqs = [row.seq for row in rows]
    assert seqs == sorted(set(seqs)), "each line is one delivery at most"


@settings(max_examples=200, deadline=None)
@given(FILES)
def test_ndjson_that_is_resumed_after_any_row_gives_the_same_rows(content):
    position, _ = resumed_everywhere_is_the_same(ndjson_of, content)

    assert position.offset == len(content)


@settings(max_examples=300, deadline=None)
@given(FILES)
def test_whatever_is_in_a_file_a_row_is_one_that_can_be_stored_or_a_reason(content):
    for row in csv_of(content, Position()):
        if isinstance(row, AudienceRow):
            assert row.parameters.keys() == {"name"}
            assert row.phone_number_id in (None, "1", "2")
            assert "\0" not in row.parameters["name"].encode().decode()
        else:
            assert isinstance(row, RejectedRow)
            assert row.reason


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=100), FILES))
def test_whatever_is_in_a_first_line_it_is_a_header_or_a_problem(line):
    found = CsvHeader.parse(line, WANTED)

    assert isinstance(found, CsvHeader) or found

"""Files of people through the real reader: any bytes, in any chunks, from any place."""

import csv
import gzip
import io
import tracemalloc

from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from sluice.adapters.audience import Audiences
from sluice.domain.audience import (
    AudienceRow,
    CsvHeader,
    Position,
    Wanted,
    are_text,
    csv_rows,
    ndjson_rows,
)
from sluice.domain.listing import Listing
from tests.conftest import NOW

WANTED = Wanted(frozenset({"name"}), ("1",), timed=True)
LISTING = Listing("marketing", "imported", "list", NOW)
PIECE = st.sampled_from([
    b"address,name\n", b"address;name;time_zone\r\n", b"+12025550101", b"+4915155000001", b",",
    b";", b"\t", b'"', b'""', b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe",
    b"Zo\xc3\xab", b"\xf0\x9f\x8e\x89", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"x" * 9_000, b"=1+1",
    b'{"address": "+12025550101", "parameters": {"name": "Ada"}}', b'{"address": ', b"{}",
    b"[" * 500,
    b'{"address": "+12025550101", "parameters": {"name": 1e999}}', b"Africa/Nairobi",
    b"\x1a", b"\\",
])  # fmt: skip
CONTENT = (
    st.lists(PIECE, max_size=40).map(b"".join)
    | st.binary(max_size=300)
    | st.lists(PIECE, max_size=10).map(b"".join).map(gzip.compress)
    | st.text(max_size=100).map(lambda text: text.encode("utf-16", "surrogatepass"))
)


class S3:
    """One object, brought in chunks of any size."""

    def __init__(self, content, chunk_bytes):
        self._content = content
        self._chunk_bytes = chunk_bytes

    def get_object(self, *, IfMatch, Range="bytes=0-", **_names):  # noqa: N803 - boto3's names
        offset = int(Range.removeprefix("bytes=").removesuffix("-"))
        if offset and offset >= len(self._content):
            raise ClientError({"Error": {"Code": "InvalidRange"}}, "GetObject")
        return {"Body": Body(io.BytesIO(self._content[offset:]), self._chunk_bytes)}


class Body:
    def __init__(self, stream, chunk_bytes):
        self._stream = stream
        self._chunk_bytes = chunk_bytes

    def iter_chunks(self, _size):
        return iter(lambda: self._stream.read(self._chunk_bytes), b"")


def lines_of(content, offset=0, chunk_bytes=7):
    return Audiences(S3(content, chunk_bytes)).lines("s3://a/b", etag="e", offset=offset)


def read(content, maker, position, chunk_bytes=7):
    """The rows of a file as the load reads it, from a position on."""
    lines = lines_of(content, 0, chunk_bytes)
    first = next(lines, b"")
    header = CsvHeader.parse(first, maker)
    if isinstance(header, list):
        assert header
        assert all(problem.message for problem in header)
        return None
    if not position.offset:
        position.offset, position.line = len(first), 1
    return csv_rows(lines_of(content, position.offset, chunk_bytes), header, maker, position)


@given(CONTENT, st.integers(1, 64), st.sampled_from([WANTED, LISTING]))
def test_any_bytes_are_rows_or_reasons_that_tell_nothing(content, chunk_bytes, maker):
    rows = [
        *(read(content, maker, Position(), chunk_bytes) or ()),
        *ndjson_rows(lines_of(content, 0, chunk_bytes), maker, Position()),
    ]

    for row in rows:
        reason = getattr(row, "reason", "")
        assert isinstance(reason, str)
        assert "2025550101" not in reason
        assert "Ada" not in reason
        assert reason.isprintable()
        if isinstance(row, AudienceRow):
            assert are_text([row.address, *row.parameters.values()])
            assert row.address.isascii()


@given(CONTENT, st.integers(1, 64), st.integers(65, 4_096))
def test_how_the_bytes_are_cut_into_chunks_changes_nothing(content, small, large):
    assert list(lines_of(content, 0, small)) == list(lines_of(content, 0, large))
    assert b"".join(lines_of(content, 0, small)) == content
    half = len(content) // 2
    assert b"".join(lines_of(content, half, small)) == content[half:]


def peak_of(run):
    """The bytes of Python's memory that it needs at most."""
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


class Endless(Audiences):
    """A file of one line that never ends: 64 MiB of it, made as it is read."""

    def __init__(self, part, parts=64):
        class Made:
            def get_object(self, **_names):
                return {"Body": self}

            def iter_chunks(self, _size):
                yield b"address,name\n"
                for _ in range(parts):
                    yield part

        super().__init__(Made())


def test_a_line_without_an_end_is_never_whole_in_memory():
    for part in (b"x" * 2**20, b'"' + b"x" * (2**20 - 1), b'""' * 2**19, b",".ljust(2**20, b" ")):

        def run(part=part):
            lines = Endless(part).lines("s3://a/b", etag="e", offset=0)
            header = CsvHeader.parse(next(lines), WANTED)
            for row in csv_rows(lines, header, WANTED, Position()):
                assert not isinstance(row, AudienceRow)

        # Its parts are a mebibyte each; csv keeps four bytes of a character, and a field's limit.
        assert peak_of(run) < 24 * 2**20


def test_the_limit_of_a_field_is_that_of_the_module():
    list(
        csv_rows(
            iter([b"+12025550101,Ada\n"]), CsvHeader(("address", "name"), ","), WANTED, Position()
        )
    )

    assert csv.field_size_limit() == 8_192

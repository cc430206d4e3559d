"""Audience files: which lines may be sent, and why the others may not."""

import json

import pytest

from sluice.domain.audience import (
    FIELD_CHARACTERS_MAX,
    AudienceRow,
    CsvHeader,
    Position,
    RejectedRow,
    Wanted,
    csv_rows,
    inline_rows,
    ndjson_rows,
)

NUMBER = "106540352242922"
WANTED = Wanted(frozenset({"name"}), (NUMBER,))
ADA = "+12025550101"
NO_ADDRESS = "has no + and country code, and is no user id"


def read(text, wanted=WANTED):
    """Every row of a CSV file, given as its bytes or text."""
    content = text if isinstance(text, bytes) else text.encode()
    first, *lines = content.splitlines(keepends=True)
    header = CsvHeader.parse(first, wanted)
    assert isinstance(header, CsvHeader), header
    return list(csv_rows(iter(lines), header, wanted, Position(len(first), 1)))


def problems(header):
    found = CsvHeader.parse(header, WANTED)
    assert isinstance(found, list)
    return [str(problem) for problem in found]


def row(seq=2, address=ADA, name="Ada", number=None):
    return AudienceRow(seq, address, {"name": name}, number)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_in_the_header(delimiter):
    text = f"address,name\n{ADA},Ada\n".replace(",", delimiter)

    assert read(text) == [row()]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_of_any_system_is_read(end):
    assert read(f"\ufeffaddress,name{end}{ADA},Ada{end}") == [row()]


def test_columns_may_be_padded_quoted_and_in_any_order():
    assert read(f'"name" , other, "address"\nAda,x,{ADA}\n'.replace(', "', ',"')) == [row()]


def test_a_quoted_field_may_hold_delimiters_quotes_and_line_ends():
    text = f'address,name\n{ADA},"Ada ""A"", the\n\nfirst"\n{ADA},Grace\n'

    assert read(text) == [row(name='Ada "A", the\n\nfirst'), row(5, name="Grace")]


def test_blank_lines_are_no_rows_but_are_counted():
    assert read(f"address,name\n\n , \n{ADA},Ada\n") == [row(4)]


def test_only_the_columns_that_the_template_names_are_kept():
    assert read(f"address,name,secret\n{ADA},Ada,hush\n")[0].parameters == {"name": "Ada"}


def test_a_row_may_fix_its_number():
    text = f"address,name,phone_number_id\n{ADA},Ada, {NUMBER} \n{ADA},Ada,5\n{ADA},Ada,\n"

    assert read(text) == [
        row(number=NUMBER),
        RejectedRow(3, "phone_number_id is not one of the campaign's numbers"),
        row(4),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{ADA}, \n", "no value for name"),
        (f"{ADA}\n", "no value for name"),
        (",Ada\n", "is empty"),
        ("12025550101,Ada\n", NO_ADDRESS),
        (f"{ADA},Ada,more\n", "the line has more fields than the header"),
        (f"{ADA},A\0da\n", "the line is not UTF-8 text"),
        (f'{ADA},"Ada" the first\n', "the line is not CSV: ',' expected after '\"'"),
        (f'{ADA},"Ada\n', "the line is not CSV: unexpected end of data"),
    ],
)
def test_a_line_that_cannot_be_sent_is_rejected_with_its_reason(line, reason):
    assert read(f"address,name\n{line}") == [RejectedRow(2, reason)]


def test_a_line_that_is_not_utf8_is_rejected_alone():
    content = b"address,name\n" + f"{ADA},".encode() + b"\xe9\n" + f"{ADA},Zo\u00eb\n".encode()

    assert read(content) == [RejectedRow(2, "the line is not UTF-8 text"), row(3, name="Zoë")]


def test_a_quote_that_is_never_closed_swallows_a_bounded_part_of_the_file():
    line = f"{ADA},Ada\n"
    rows = read(f'address,name\n{ADA},"Ada\n' + line * 3_000)

    swallowed = FIELD_CHARACTERS_MAX // len(line) + 2
    assert isinstance(rows[0], RejectedRow)
    assert len(rows) > 3_000 - swallowed
    assert all(isinstance(one, AudienceRow) for one in rows[1:])


def test_a_reason_never_tells_what_is_written_in_the_line():
    text = "address,name\n12025550101,Ada\n+999123456789,Ada\n+12025550101,\n+1202,Ada\n"

    for rejected in read(text):
        assert isinstance(rejected, RejectedRow)
        assert not any(character.isdigit() for character in rejected.reason.replace("7 to 15", ""))


def test_a_header_names_everything_that_is_missing_or_double():
    assert problems(b"phone,phone\n") == [
        "audience: the header has no column address",
        "audience: the header has no column name",
        "audience: the header names a column twice",
    ]


@pytest.mark.parametrize("header", [b"", b"\n", b"\xff\xfe\n", b'"', b"address;name,x\n"])
def test_what_is_no_header_is_a_problem(header):
    assert problems(header)


@pytest.mark.parametrize(
    "header",
    [b"address,name\r+12025550101,Ada\r", b"x" * 200_000, b'"' + b"x\r" * 100],
    ids=["old_line_ends", "long", "quoted"],
)
def test_a_header_that_is_not_csv_is_a_problem_and_no_exception(header):
    assert problems(header)


def ndjson(*lines):
    content = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    position = Position()
    rows = list(ndjson_rows(iter(line + b"\n" for line in content), WANTED, position))
    assert position == Position(sum(len(line) + 1 for line in content), len(content))
    return rows


def test_each_line_of_ndjson_is_a_recipient():
    assert ndjson(
        b'\xef\xbb\xbf{"address": "+12025550101", "parameters": {"name": "Ada"}}',
        b"",
        {"address": ADA, "parameters": {"name": "Zoë 🎉"}, "phone_number_id": NUMBER},
    ) == [row(1), row(3, name="Zoë 🎉", number=NUMBER)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not JSON", "the line is not JSON"),
        (b"[" * 100_000, "the line is not JSON"),
        (b"[1]", "the line is not a JSON object"),
        (b"\xff", "the line is not JSON"),
        ({"address": ADA}, "no value for name"),
        ({"address": ADA, "parameters": ["Ada"]}, "no value for name"),
        ({"address": ADA, "parameters": {"name": None}}, "no value for name"),
        ({"address": ADA, "parameters": {"name": True}}, "no value for name"),
        ({"address": 5, "parameters": {"name": "Ada"}}, NO_ADDRESS),
        ({"address": ADA, "parameters": {"name": "\ud800"}}, "the line is not UTF-8 text"),
        ({"address": ADA, "parameters": {"name": "\0"}}, "the line is not UTF-8 text"),
    ],
)  # fmt: skip
def test_a_line_of_ndjson_that_cannot_be_sent_is_rejected(line, reason):
    assert ndjson(line) == [RejectedRow(1, reason)]


def test_a_number_is_written_as_it_stands():
    assert ndjson({"address": ADA, "parameters": {"name": 5}}) == [row(1, name="5")]


def test_inline_recipients_are_counted_from_one():
    rows = inline_rows(
        [{"address": ADA, "parameters": {"name": "Ada"}}, {"address": ADA, "parameters": {}}],
        WANTED,
    )

    assert list(rows) == [row(1), RejectedRow(2, "no value for name")]


TIMED = Wanted(frozenset({"name"}), (NUMBER,), timed=True)


def zones(rows):
    return [row.time_zone if isinstance(row, AudienceRow) else row.reason for row in rows]


def test_a_row_may_have_a_time_zone_of_its_own():
    text = f"address,name,time_zone\n{ADA},Ada, Asia/Tokyo \n{ADA},Ada,\n"

    assert zones(read(text, TIMED)) == ["Asia/Tokyo", None]


def test_a_row_with_an_unknown_time_zone_is_rejected():
    text = f"address,name,time_zone\n{ADA},Ada,Tokyo\n"

    assert zones(read(text, TIMED)) == ["time_zone is not the name of an IANA time zone"]


def test_a_line_of_ndjson_may_have_a_time_zone():
    lines = [
        json.dumps({"address": ADA, "parameters": {"name": "Ada"}, "time_zone": zone}).encode()
        for zone in ("Asia/Tokyo", None, "Mars/Base", 7)
    ]

    assert zones(ndjson_rows(iter(lines), TIMED, Position())) == [
        "Asia/Tokyo",
        None,
        "time_zone is not the name of an IANA time zone",
        "time_zone is not the name of an IANA time zone",
    ]


def test_without_a_window_a_time_zone_does_not_matter():
    text = f"address,name,time_zone\n{ADA},Ada,Tokyo\n"

    assert zones(read(text)) == [None]

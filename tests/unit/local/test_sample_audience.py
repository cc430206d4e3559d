"""The sample audiences are what their script writes, and hold what they promise."""

import csv
import io
import json

from local.sample_audience import (
    COLUMNS,
    CSV_FILE,
    DUPLICATES,
    INVALID,
    NDJSON_FILE,
    PEOPLE,
    csv_bytes,
    ndjson_bytes,
)
from sluice.domain.addresses import Address, parse_address
from sluice.domain.requests import Recipient

PARAMETERS = ("name", "clinic", "date")


def csv_rows() -> list[dict[str, str | None]]:
    text = CSV_FILE.read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def valid_addresses() -> list[str]:
    rows = [row for row in csv_rows() if all((row[name] or "").strip() for name in PARAMETERS)]
    addresses = [parse_address(row["address"] or "") for row in rows]
    return [address.value for address in addresses if isinstance(address, Address)]


def test_the_files_are_what_the_script_writes() -> None:
    written = "write them again: python -m local.sample_audience"
    assert CSV_FILE.read_bytes() == csv_bytes(), written
    assert NDJSON_FILE.read_bytes() == ndjson_bytes(), written


def test_the_csv_is_as_a_spreadsheet_writes_it() -> None:
    content = CSV_FILE.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf" + ",".join(COLUMNS).encode() + b"\r\n")
    assert b'"two\nlines"' in content


def test_the_csv_has_three_thousand_rows() -> None:
    assert len(csv_rows()) == PEOPLE + DUPLICATES + INVALID == 3_000


def test_the_rows_that_must_be_rejected_are_rejected() -> None:
    assert len(csv_rows()) - len(valid_addresses()) == INVALID


def test_the_duplicates_are_found_however_they_are_written() -> None:
    assert len(valid_addresses()) - len(set(valid_addresses())) == DUPLICATES


def test_every_line_of_the_ndjson_is_a_recipient() -> None:
    for line in NDJSON_FILE.read_text(encoding="utf-8").splitlines():
        recipient = Recipient.model_validate_json(line)
        assert isinstance(parse_address(recipient.address), Address)
        assert json.loads(line)["parameters"].keys() == set(PARAMETERS)

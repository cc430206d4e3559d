"""Exports: how they are cut, where their files lie, what their manifest says."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.exports import (
    PLACES,
    RECIPIENT_COLUMNS,
    REJECTED,
    Part,
    StoredExport,
    StoredFile,
    manifest_of,
    parts_of,
    recipients,
)
from sluice.domain.requests import ExportRequest

PEOPLE = recipients(None, parameters=False)
BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def request(**changes):
    return ExportRequest.model_validate({"campaign": "reminder", **changes}, strict=False)


@given(last=st.integers(0, 5_000), rows=st.integers(1, 700))
def test_every_position_is_in_exactly_one_part_of_each_table(last, rows):
    parts = list(parts_of((PEOPLE, REJECTED), last=last, rows=rows))

    for table in (PEOPLE, REJECTED):
        covered = [
            position
            for part in parts
            if part.table == table
            for position in range(part.first, part.last + 1)
        ]
        assert covered == list(range(1, last + 1))
    assert all(part.last - part.first < rows for part in parts)


def test_a_part_is_named_by_its_range_and_names_sort_as_positions_do():
    parts = parts_of((PEOPLE,), last=15_000_000, rows=250_000)

    keys = [part.key("csv") for part in parts]

    assert keys[0] == "recipients/csv/part-000000001-000250000.csv"
    assert keys == sorted(keys)
    assert all(key.startswith(PLACES) for key in keys)


def test_each_format_has_a_folder_of_its_own_so_that_it_can_be_read_as_a_table():
    part = Part(REJECTED, 1, 10)

    assert part.key("csv") == "rejected/csv/part-000000001-000000010.csv"
    assert part.key("parquet") == "rejected/parquet/part-000000001-000000010.parquet"


def test_parameters_are_exported_only_when_asked_for():
    assert recipients(None, parameters=False).columns == RECIPIENT_COLUMNS
    assert [c.name for c in recipients(("seq",), parameters=True).columns] == ["seq", "parameters"]


def test_columns_come_in_the_order_that_was_asked_for():
    names = ("read_at", "address", "seq")

    assert tuple(column.name for column in recipients(names, parameters=False).columns) == names


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, "s3://exports/reminder/"),
        ({"id": "later"}, "s3://exports/reminder/later/"),
        ({"id": "later", "to": "s3://bucket/"}, "s3://bucket/"),
        ({"to": "s3://bucket/a/b/"}, "s3://bucket/a/b/"),
    ],
)
def test_another_id_is_another_place(changes, place):
    assert request(**changes).place("exports") == place


def test_the_manifest_says_what_is_there_and_how_the_campaign_was():
    part = Part(REJECTED, 1, 1_000)
    stored = StoredExport(7, "hash", 1_000, "running", finished=False, began_at=BEGAN)
    file = StoredFile(rows=3, size_bytes=90, sha256="ab")

    manifest = manifest_of(
        campaign="reminder",
        export_id="later",
        stored=stored,
        tables=(REJECTED,),
        files=[(part, {"csv": file})],
        written_at=BEGAN,
    )

    assert manifest == {
        "campaign": "reminder",
        "id": "later",
        "campaign_state": "running",
        "finished": False,
        "began_at": "2026-03-01T09:00:00+00:00",
        "written_at": "2026-03-01T09:00:00+00:00",
        "tables": [
            {
                "table": "rejected",
                "columns": [
                    {"name": "line", "type": "integer"},
                    {"name": "reason", "type": "text"},
                ],
                "rows": 3,
                "parts": [
                    {
                        "first": 1,
                        "last": 1_000,
                        "rows": 3,
                        "files": [
                            {
                                "format": "csv",
                                "key": "rejected/csv/part-000000001-000001000.csv",
                                "bytes": 90,
                                "sha256": "ab",
                            }
                        ],
                    }
                ],
            }
        ],
    }

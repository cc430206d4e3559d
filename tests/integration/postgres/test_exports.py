"""The rows of a part: which, of which attempt, by which indexes, and in how much memory."""

import csv
import json
import subprocess
import sys
from datetime import timedelta

import duckdb
import pytest

from sluice.adapters.parquet import Parquet
from sluice.adapters.postgres.exports import SETTINGS, Exports, statement_of
from sluice.domain.exports import FORMULA_STARTS, REJECTED, Part, recipients
from tests.conftest import NOW

PEOPLE = recipients(None, parameters=True)
WIDE_ROWS = 50_000
PARAMETER_CHARACTERS = 2_000
COPY_MEGABYTES_MAX = 16
PARQUET_MEGABYTES_MAX = 250
"""Both far less than the 100 MB of the part and what becomes of them."""
MEASURE = """
import resource, sys
from pathlib import Path
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.exports import Exports
from sluice.domain.exports import Part, recipients

def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

url, folder, rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
exports = Exports(Database(lambda: {"conninfo": url}))
people = recipients(None, parameters=True)
exports.copy(1, Part(people, 1, 10), folder / "few.csv")
before = peak_megabytes()
assert exports.copy(1, Part(people, 1, rows), folder / "part.csv") == rows
copied = peak_megabytes()
from sluice.adapters.parquet import Parquet
Parquet().write(folder / "part.csv", folder / "part.parquet", people.columns, rows=rows)
print(copied - before, peak_megabytes() - copied)
"""


@pytest.fixture
def exports(database):
    return Exports(database)


def rows_of(exports, campaign_id, path, table=PEOPLE):
    exports.copy(campaign_id, Part(table, 1, 1_000), path / "part.csv")
    with (path / "part.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_an_export_begins_once_as_the_campaign_was(exports, world):
    world.campaign(7)

    first = exports.begin("reminder", "", request_hash="a", place="s3://b/", now=NOW)
    world.database.fetch("UPDATE campaign SET state = 'paused', loaded_rows = 9")
    second = exports.begin("reminder", "", request_hash="b", place="s3://c/", now=NOW)

    assert first == second == exports.find("reminder", "")
    assert (first.last_seq, first.campaign_state, first.request_hash) == (7, "running", "a")


def test_an_export_of_no_campaign_or_at_a_taken_place_does_not_begin(exports, world):
    world.campaign(1)
    exports.begin("reminder", "", request_hash="a", place="s3://b/", now=NOW)

    assert exports.begin("other", "", request_hash="a", place="s3://c/", now=NOW) == "absent"
    assert exports.begin("reminder", "2", request_hash="a", place="s3://b/", now=NOW) == "taken"
    assert exports.find("reminder", "2") is None


def test_the_wamid_and_the_error_are_of_what_the_delivery_is_now(exports, world, tmp_path):
    campaign_id = world.campaign(3)
    world.database.fetch("UPDATE delivery SET attempt = 2, error_code = 131026 WHERE seq < 3")
    world.database.fetch(
        "INSERT INTO message VALUES (%(id)s, 1, 1, 'first'), (%(id)s, 1, 2, 'second'),"
        " (%(id)s, 2, 1, 'first')",
        {"id": campaign_id},
    )
    world.database.fetch(
        "INSERT INTO delivery_error VALUES (%(id)s, 1, 1, 131026, 'old', %(now)s),"
        " (%(id)s, 1, 2, 131026, 'new', %(now)s), (%(id)s, 1, 2, 130472, 'other', %(later)s),"
        " (%(id)s, 3, 1, 131026, 'overcome', %(now)s)",
        {"id": campaign_id, "now": NOW, "later": NOW + timedelta(seconds=1)},
    )

    rows = rows_of(exports, campaign_id, tmp_path)

    assert [row["wamid"] for row in rows] == ["second", "", ""]
    assert [row["error_details"] for row in rows] == ["new", "", ""]


@pytest.mark.parametrize("start", [*FORMULA_STARTS, "'"])
def test_a_text_that_a_spreadsheet_would_run_is_marked_and_parquet_has_it_whole(
    exports, world, tmp_path, start
):
    campaign_id = world.campaign(1)
    reason = f"{start}HYPERLINK(\"a\", 'b')\r\n, ü 😀"
    world.database.fetch("INSERT INTO rejected VALUES (%s, 1, %s)", (campaign_id, reason))

    (row,) = rows_of(exports, campaign_id, tmp_path, REJECTED)

    assert row["reason"] == f"'{reason}"
    assert parquet_of(tmp_path, REJECTED) == [(1, reason)]


@pytest.mark.parametrize("reason", ["", " ", "a'b", "NULL", '"', "\\N", "\\", "a\nb", ",", "x=1"])
def test_any_other_text_is_the_same_in_both(exports, world, tmp_path, reason):
    campaign_id = world.campaign(1)
    world.database.fetch("INSERT INTO rejected VALUES (%s, 1, %s)", (campaign_id, reason))

    (row,) = rows_of(exports, campaign_id, tmp_path, REJECTED)

    assert row["reason"] == reason
    assert parquet_of(tmp_path, REJECTED) == [(1, reason)]


def test_a_text_as_long_as_a_line_of_an_audience_reaches_the_parquet(exports, world, tmp_path):
    campaign_id, reason = world.campaign(1), '"\n' * 500_000
    world.database.fetch("INSERT INTO rejected VALUES (%s, 1, %s)", (campaign_id, reason))

    exports.copy(campaign_id, Part(REJECTED, 1, 1_000), tmp_path / "part.csv")

    assert parquet_of(tmp_path, REJECTED) == [(1, reason)]


def parquet_of(folder, table):
    Parquet().write(folder / "part.csv", folder / "part.parquet", table.columns, rows=1)
    with duckdb.connect() as connection:
        return connection.read_parquet(f"{folder}/part.parquet").fetchall()


def test_an_address_keeps_its_plus(exports, world, tmp_path):
    (row,) = rows_of(exports, world.campaign(1), tmp_path)

    assert row["address"] == "+4915155000001"
    assert json.loads(row["parameters"]) == {"name": "Person 1"}


def nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


@pytest.mark.parametrize("analysed", [True, False])
def test_a_part_in_the_middle_of_a_campaign_reads_no_more_than_its_own_rows(
    world, database, analysed
):
    campaign_id = world.campaign(20_000)
    database.fetch("UPDATE delivery SET attempt = 1, error_code = 131026")
    database.fetch("INSERT INTO message SELECT campaign_id, seq, 1, 'wamid' FROM delivery")
    database.fetch(
        "INSERT INTO delivery_error SELECT campaign_id, seq, 1, 131026, 'why', %s FROM delivery",
        (NOW,),
    )
    if analysed:
        database.fetch("VACUUM ANALYZE")

    statement, parameters = statement_of(campaign_id, Part(PEOPLE, 15_001, 16_000))

    def explain(connection):
        text = statement.as_string(connection)
        with connection.transaction():
            for setting in SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, true)", setting)
            return connection.execute(
                f"EXPLAIN (ANALYZE, FORMAT JSON) {text}".encode(), parameters
            ).fetchall()[0][0]

    scans = [node for node in nodes(database.run(explain)[0]["Plan"]) if "Relation Name" in node]
    assert {node["Relation Name"] for node in scans} >= {
        "recipient_shared", "delivery_shared", "message_shared", "delivery_error_shared"
    }  # fmt: skip
    for node in scans:
        # The names of variants are asked for once, or never where nobody has one; there are few
        # campaigns.
        once = node["Relation Name"] == "campaign" and node["Actual Loops"] <= 1
        assert once or node["Node Type"] != "Seq Scan", node["Relation Name"]
        looked_at = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        assert looked_at * node["Actual Loops"] <= 1_000


def test_memory_does_not_grow_with_the_part(world, database, database_url, tmp_path):
    (campaign_id,) = {world.campaign(1)}
    assert campaign_id == 1
    database.fetch(
        "INSERT INTO recipient SELECT 1, seq, '+4915155' || seq, seq,"
        " jsonb_build_object('text', left(repeat(md5(seq::text), 63), %s))"
        " FROM generate_series(2, %s) AS seq",
        (PARAMETER_CHARACTERS, WIDE_ROWS),
    )
    database.fetch(
        "INSERT INTO delivery (campaign_id, seq, state)"
        " SELECT 1, seq, 'done' FROM generate_series(2, %s) AS seq",
        (WIDE_ROWS,),
    )

    done = subprocess.run(
        [sys.executable, "-c", MEASURE, database_url, tmp_path, str(WIDE_ROWS)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    copied, converted = map(float, done.stdout.split())
    assert (tmp_path / "part.csv").stat().st_size > WIDE_ROWS * PARAMETER_CHARACTERS
    assert copied < COPY_MEGABYTES_MAX
    assert converted < PARQUET_MEGABYTES_MAX

"""export.handle on real Postgres and simulated S3: what is written, once, and what is parked."""

import csv
import hashlib
import io
import json
from contextlib import nullcontext
from datetime import timedelta

import duckdb
import pytest

from sluice.adapters.storage import Storage
from tests.conftest import NOW, NUMBER
from tests.integration.functions.ports import event_of, failed, parked, reasons, samples

NAME = "vaccination-2026-12"
PLACE = f"{NAME}/"
FIRST_CSV = f"{PLACE}recipients/csv/part-000000001-000001000.csv"
FIRST_PARQUET = FIRST_CSV.replace("csv", "parquet")
OUTCOMES = {"elsewhere": "parked", "invalid_fields": "parked"}
"""The others are carried out."""


@pytest.fixture
def campaign_id(world):
    return world.campaign(2_500, name=NAME)


def asked(**changes):
    """An event that asks for an export in parts of 1,000."""
    body = {"kind": "export", "campaign": NAME, "rows_per_part": 1_000, **changes}
    return event_of(body, kind="export")


def objects(aws):
    """Everything in the bucket of exports, by key."""
    client = aws.client("s3")
    listed = client.list_objects_v2(Bucket="exports").get("Contents", [])
    return {
        entry["Key"]: client.get_object(Bucket="exports", Key=entry["Key"])["Body"].read()
        for entry in listed
    }


def manifest(aws, place=PLACE):
    return json.loads(objects(aws)[f"{place}manifest.json"])


def csv_rows(aws, table="recipients", place=PLACE):
    """The rows of every part, as the texts that the CSV has."""
    return [
        row
        for key, content in sorted(objects(aws).items())
        if key.startswith(f"{place}{table}/csv/")
        for row in csv.DictReader(io.StringIO(content.decode()))
    ]


def parquet_rows(aws, folder, table="recipients", place=PLACE):
    """The rows of every part as values, and the columns' types."""
    for key, content in objects(aws).items():
        if key.startswith(f"{place}{table}/parquet/"):
            (folder / key.rpartition("/")[2]).write_bytes(content)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.read_parquet(f"{folder}/part-*.parquet")
        types = dict(zip(found.columns, map(str, found.types), strict=True))
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()], types


class Slow(Storage):
    """Each file takes five minutes, and what was written is noted."""

    def __init__(self, client, clock):
        super().__init__(client)
        self.clock, self.written = clock, []

    def _put(self, place, key, body, told):
        self.clock.advance(300)
        outcome = super()._put(place, key, body, told)
        self.written.append((key, outcome))
        return outcome


class Lost(Storage):
    """The answer to one file is lost after it was written."""

    def __init__(self, client, key):
        super().__init__(client)
        self.key = key

    def _put(self, place, key, body, told):
        super()._put(place, key, body, told)
        if key == self.key:
            raise ConnectionError("the answer was lost")
        return "written"


@pytest.mark.usefixtures("campaign_id")
@pytest.mark.parametrize("sample", samples("export"))
def test_a_sample_is_carried_out_or_parked(export, aws, load_event, sample):
    answer = export.run(load_event(f"export/{sample}"))

    outcome = "again" if failed(answer) else "parked" if parked(aws) else "done"
    assert outcome == OUTCOMES.get(sample, "done")


def test_the_parquet_the_csv_and_the_rows_of_the_database_agree(
    export, world, aws, campaign_id, tmp_path
):
    world.database.fetch(
        "UPDATE delivery SET state = 'done', due_at = NULL, status = 'read', attempt = 1,"
        " phone_number_id = %s, accepted_at = %s, read_at = %s WHERE seq %% 2 = 0",
        (NUMBER, NOW, NOW + timedelta(microseconds=1)),
    )
    world.database.fetch("INSERT INTO message VALUES (%s, 2, 1, 'wamid.2')", (campaign_id,))

    export.run(asked())

    rows, types = parquet_rows(aws, tmp_path)
    texts = csv_rows(aws)
    assert len(rows) == len(texts) == 2_500
    assert [row["seq"] for row in rows] == list(range(1, 2_501))
    for row, text in zip(rows, texts, strict=True):
        written = {
            name: value.isoformat(timespec="microseconds").replace("+00:00", "Z")
            if name.endswith("_at") and value
            else "" if value is None else str(value)
            for name, value in row.items()
        }  # fmt: skip
        assert written == text
    assert types["seq"] == types["attempt"] == types["error_code"] == "INTEGER"
    assert types["read_at"] == "TIMESTAMP WITH TIME ZONE"
    assert rows[0]["status"] is None
    assert rows[0]["state"] == "pending"
    second = rows[1]
    stored = world.row(campaign_id, 2)
    told = stored.keys() & second.keys()
    assert {name: second[name] for name in told} == {name: stored[name] for name in told}
    assert stored.keys() - told == {"due_at", "country_code", "pricing"}
    assert second["wamid"] == "wamid.2"
    assert second["address"] == "+4915155000002"


def test_the_manifest_names_every_file_with_its_rows_and_digest(export, aws, campaign_id):
    export.run(asked())

    told, found = manifest(aws), objects(aws)
    files = [file for table in told["tables"] for part in table["parts"] for file in part["files"]]
    assert {PLACE + file["key"] for file in files} == found.keys() - {f"{PLACE}manifest.json"}
    for file in files:
        content = found[PLACE + file["key"]]
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["bytes"] == len(content)
    assert [table["rows"] for table in told["tables"]] == [2_500, 0]
    assert [part["rows"] for part in told["tables"][0]["parts"]] == [1_000, 1_000, 500]


def test_an_export_that_runs_out_of_time_goes_on_and_writes_nothing_again(
    export, aws, clock, campaign_id
):
    storage = Slow(aws.client("s3"), clock)

    answers = [export.run(asked(), seconds=900, storage=storage) for _ in range(5)]

    assert [bool(failed(answer)) for answer in answers] == [True, True, False, False, False]
    keys = [key for key, _ in storage.written]
    assert len(keys) == len(set(keys)) == 13
    assert keys[-1] == "manifest.json"
    assert {outcome for _, outcome in storage.written} == {"written"}
    assert len(csv_rows(aws)) == 2_500


def test_without_a_manifest_an_export_is_not_complete(export, aws, clock, campaign_id):
    export.run(asked(), seconds=900, storage=Slow(aws.client("s3"), clock))

    assert f"{PLACE}manifest.json" not in objects(aws)
    assert FIRST_PARQUET in objects(aws)


def test_an_export_that_is_published_twice_is_one(export, world, aws, campaign_id):
    export.run(asked())
    before = objects(aws)
    world.database.fetch("UPDATE delivery SET state = 'cancelled', due_at = NULL")

    assert not failed(export.run(asked()))

    assert objects(aws) == before
    assert export.telemetry.facts("facts")[-1]["again"] is True


@pytest.mark.parametrize("key", [FIRST_CSV, FIRST_PARQUET, f"{PLACE}manifest.json"])
def test_a_file_whose_answer_was_lost_is_kept_and_the_next_run_goes_on(
    export, world, aws, campaign_id, key
):
    with pytest.raises(ConnectionError):
        export.run(asked(), storage=Lost(aws.client("s3"), key.removeprefix(PLACE)))
    kept = objects(aws)[key]

    assert not failed(export.run(asked()))

    assert objects(aws)[key] == kept
    assert len(csv_rows(aws)) == 2_500


def test_a_part_whose_csv_was_written_before_a_crash_has_the_same_in_its_parquet(
    export, world, aws, campaign_id, tmp_path
):
    with pytest.raises(ConnectionError):
        export.run(asked(), storage=Lost(aws.client("s3"), FIRST_CSV.removeprefix(PLACE)))
    world.database.fetch("UPDATE delivery SET state = 'cancelled', due_at = NULL")

    export.run(asked())

    rows, _ = parquet_rows(aws, tmp_path)
    assert [row["state"] for row in rows] == ["pending"] * 1_000 + ["cancelled"] * 1_500
    assert [row["state"] for row in csv_rows(aws)] == [row["state"] for row in rows]


def test_of_two_runs_at_once_the_first_writer_of_a_part_counts(
    export, world, aws, campaign_id, tmp_path
):
    class Overtaken(Storage):
        """Another run is done before the first file of this one arrives."""

        def put(self, *arguments, **more):
            if not self.overtaken:
                self.overtaken = True
                export.run(asked(), place=lambda: nullcontext(tmp_path))
                world.database.fetch("UPDATE delivery SET state = 'cancelled', due_at = NULL")
            return super().put(*arguments, **more)

        overtaken = False

    assert not failed(export.run(asked(), storage=Overtaken(aws.client("s3"))))

    rows, _ = parquet_rows(aws, tmp_path)
    assert {row["state"] for row in rows} == {row["state"] for row in csv_rows(aws)} == {"pending"}


def test_a_campaign_that_still_runs_is_exported_and_the_manifest_says_so(
    export, world, aws, campaign_id
):
    export.run(asked())
    world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = %s", (NOW,))
    export.run(asked(id="at-the-end"))

    first, second = manifest(aws), manifest(aws, f"{PLACE}at-the-end/")
    assert (first["campaign_state"], first["finished"]) == ("running", False)
    assert (second["campaign_state"], second["finished"]) == ("finished", True)
    assert second["id"] == "at-the-end"


def test_another_id_writes_elsewhere_and_leaves_the_first_as_it_was(
    export, world, aws, campaign_id
):
    export.run(asked())
    before = objects(aws)
    world.database.fetch("UPDATE delivery SET status = 'read', read_at = %s", (NOW,))

    export.run(asked(id="later"))

    assert before.items() <= objects(aws).items()
    later = csv_rows(aws, place=f"{PLACE}later/")
    assert {row["status"] for row in later} == {"read"}


def test_an_export_is_cut_as_it_began_however_far_the_load_has_come_since(
    export, world, aws, clock, campaign_id
):
    world.database.fetch("UPDATE campaign SET loaded_at = NULL")
    export.run(asked(), seconds=900, storage=Slow(aws.client("s3"), clock))
    world.database.fetch("UPDATE campaign SET loaded_rows = 5000")

    export.run(asked())

    assert manifest(aws)["campaign_state"] == "loading"
    assert len(csv_rows(aws)) == 2_500


def test_the_same_export_with_another_content_is_parked(export, aws, campaign_id):
    export.run(asked())

    export.run(asked(formats=["csv"]))

    assert reasons(aws) == ["this export exists with another content"]


def test_a_place_of_another_export_is_not_written(export, aws, campaign_id):
    export.run(asked())
    export.run(asked(id="b", to="s3://exports/b/", rows_per_part=1_000), seconds=0)

    export.run(asked(id="c", to=f"s3://exports/{PLACE}"))
    export.run(asked(id="d", to="s3://exports/b/"))

    assert reasons(aws) == [
        f"to: s3://exports/{PLACE} holds files of another export",
        "to: s3://exports/b/ belongs to another export",
    ]


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket"])
def test_a_place_that_may_not_be_written_is_parked(export, aws, campaign_id, code, monkeypatch):
    client = aws.client("s3")

    def refuse(**_):
        raise client.exceptions.ClientError({"Error": {"Code": code}}, "PutObject")

    monkeypatch.setattr(client, "put_object", refuse)
    export.run(asked())

    assert reasons(aws) == [f"to: s3://exports/{PLACE} may not be written"]


def test_a_part_that_is_too_large_is_parked_with_what_helps(export, aws, campaign_id, monkeypatch):
    monkeypatch.setattr("sluice.adapters.postgres.exports.EXPORT_PART_BYTES_MAX", 1_000)

    export.run(asked())

    assert reasons(aws) == [
        "rows_per_part: positions 1 to 1000 are too large for one part, ask for fewer"
    ]
    assert objects(aws) == {}


def test_only_the_columns_and_formats_that_were_asked_for_are_written(
    export, aws, campaign_id, tmp_path
):
    export.run(asked(formats=["parquet"], columns=["address", "state"], parameters=True))

    rows, _ = parquet_rows(aws, tmp_path)
    assert csv_rows(aws) == []
    assert rows[0].keys() == {"address", "state", "parameters"}
    assert json.loads(rows[0]["parameters"]) == {"name": "Person 1"}


def test_rejected_lines_are_a_table_of_their_own(export, world, aws, campaign_id, tmp_path):
    world.database.fetch(
        "INSERT INTO rejected VALUES (%s, 1200, '=1+1'), (%s, 7, 'has no country code')",
        (campaign_id, campaign_id),
    )

    export.run(asked())

    rows, types = parquet_rows(aws, tmp_path, "rejected")
    assert rows == [
        {"line": 7, "reason": "has no country code"},
        {"line": 1200, "reason": "=1+1"},
    ]
    assert types == {"line": "INTEGER", "reason": "VARCHAR"}
    assert [row["reason"] for row in csv_rows(aws, "rejected")] == ["has no country code", "'=1+1"]


def test_an_export_for_an_unknown_campaign_comes_again_soon_and_is_parked_in_the_end(export, aws):
    assert failed(export.run(asked(), receives=4))
    assert not failed(export.run(asked(), receives=5))

    assert reasons(aws) == [f"there is no campaign {NAME}"]


def test_a_campaign_does_not_belong_into_the_queue_of_exports(export, aws, load_event):
    export.run(load_event("campaign/inline"))

    assert reasons(aws) == ["kind=campaign does not belong into this queue"]


def test_what_is_logged_names_no_phone_number(export, aws, campaign_id):
    export.run(asked())

    assert export.telemetry.reports
    assert "4915155" not in repr(export.telemetry.reports)

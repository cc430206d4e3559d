"""From the topic to files, through the deployed function and its layers."""

import json
from typing import Any

import duckdb

from local.system import System
from tests.end_to_end.conftest import Campaign, people, until


def objects(system: System) -> dict[str, bytes]:
    bucket, storage = system.deployment.export_bucket, system.aws.client("s3")
    listed: list[dict[str, Any]] = storage.list_objects_v2(Bucket=bucket).get("Contents", [])
    return {
        entry["Key"]: storage.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
        for entry in listed
    }


def test_an_export_of_a_campaign_says_what_became_of_each(system: System, tmp_path: Any) -> None:
    campaign = Campaign(system, "exported", people(9_000, 20))
    campaign.publish()
    campaign.await_states({"done": 20})

    for _ in range(2):
        system.publish({"kind": "export", "campaign": "exported"}, kind="export")
    found = until(
        lambda: (all_of := objects(system)).get("exported/manifest.json") and all_of,
        seconds=60,
        what="the manifest is written",
    )

    manifest = json.loads(found["exported/manifest.json"])
    assert [table["rows"] for table in manifest["tables"]] == [20, 0]
    (parquet,) = (key for key in found if "recipients/parquet/" in key)
    (tmp_path / "part.parquet").write_bytes(found[parquet])
    with duckdb.connect() as connection:
        rows = connection.sql(
            f"SELECT address, state FROM '{tmp_path}/part.parquet' ORDER BY address"
        ).fetchall()
    assert rows == [(address, "done") for address in sorted(campaign.people)]

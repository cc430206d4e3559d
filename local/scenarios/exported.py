"""The files of an export, read as an analyst reads them, and what the ledger has instead."""

import csv
import io
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from local.cloud_api.ledger import ACCEPTED, Request, Status
from local.judge.aftermath import Exported, Truth
from local.system import System
from sluice.domain.delivery import STATUS_OF_WEBHOOK

COMPARED: Final = (
    "seq",
    "address",
    "phone_number_id",
    "state",
    "status",
    "attempt",
    "error_code",
    "wamid",
)


def files(system: System, prefix: str) -> dict[str, bytes]:
    """Return what lies below a prefix of the bucket of exports; empty before the manifest."""
    storage, bucket = system.aws.client("s3"), system.deployment.export_bucket
    listed = storage.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    keys = [entry["Key"] for entry in listed]
    if f"{prefix}manifest.json" not in keys:
        return {}
    return {key: storage.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}


def csv_rows(found: Mapping[str, bytes]) -> dict[str, Exported]:
    """Return the people of the CSV parts, by seq."""
    rows: list[Mapping[str, str]] = []
    for content in _parts(found, "recipients/csv/"):
        rows += csv.DictReader(io.StringIO(content.decode()))
    return {row["seq"]: {name: _unmarked(name, row[name]) for name in COMPARED} for row in rows}


def parquet_rows(found: Mapping[str, bytes]) -> dict[str, Exported]:
    """Return the people of the Parquet parts, by seq."""
    rows: dict[str, Exported] = {}
    with tempfile.TemporaryDirectory() as directory, duckdb.connect() as connection:
        for place, content in enumerate(_parts(found, "recipients/parquet/")):
            file = Path(directory) / f"{place}.parquet"
            file.write_bytes(content)
            query = f"SELECT {', '.join(COMPARED)} FROM '{file}'"  # noqa: S608 - names of our own
            for row in connection.sql(query).fetchall():
                texts = [None if value is None else str(value) for value in row]
                rows[str(row[0])] = dict(zip(COMPARED, texts, strict=True))
    return rows


def manifest_rows(found: Mapping[str, bytes]) -> int:
    """Return how many people the manifest counts."""
    [content] = [body for key, body in found.items() if key.endswith("manifest.json")]
    tables = {table["table"]: table for table in json.loads(content)["tables"]}
    return int(tables["recipients"]["rows"])


def truth_of(
    requests: Sequence[Request], told: Mapping[str, Sequence[Status]], campaign_id: int
) -> dict[str, Truth]:
    """Return what the ledger has of everybody of a campaign, by seq."""
    found: dict[str, Truth] = {}
    for request in sorted(requests):
        campaign, seq, _ = (*request.opaque_id.split(":"), "", "")[:3]
        if campaign != str(campaign_id):
            continue
        found.setdefault(seq, Truth(request.recipient, None, None, None))
        if request.verdict in ACCEPTED:
            statuses = told.get(request.wamid, ())
            found[seq] = Truth(
                request.recipient, request.phone_number_id, request.wamid, _highest(statuses)
            )
    return found


def _highest(told: Iterable[Status]) -> str | None:
    ranks = [STATUS_OF_WEBHOOK[one.status] for one in told if one.status in STATUS_OF_WEBHOOK]
    return max(ranks).label if ranks else None


def _parts(found: Mapping[str, bytes], folder: str) -> list[bytes]:
    return [content for key, content in sorted(found.items()) if folder in key]


def _unmarked(name: str, text: str) -> Any:
    """The text as it was: a wamid that a spreadsheet might run has a mark before it."""
    return (text.removeprefix("'") if name == "wamid" else text) or None

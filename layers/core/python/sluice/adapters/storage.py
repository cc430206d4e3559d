"""Files in S3, at places ``s3://bucket/prefix/``: each is written once, and whole or not at all."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, Final, Literal

from botocore.exceptions import ClientError

from sluice.domain.exports import StoredFile

_ABSENT: Final = {"NoSuchBucket", "AccessDenied", "AllAccessDisabled", "403", "404"}
_TYPES: Final = {".csv": "text/csv; charset=utf-8", ".json": "application/json"}
_READ_BYTES: Final = 1024 * 1024


class Storage:
    """Writes nothing over: of two who write the same file, the first one's stays.

    Source: Amazon S3, conditional writes (``If-None-Match``).
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def keys(self, place: str, *, within: Sequence[str]) -> set[str] | None:
        """Return the keys below the place that begin so; None: no such bucket, or not for us."""
        bucket, prefix = _location(place)
        pages = self._client.get_paginator("list_objects_v2")
        try:
            return {
                entry["Key"].removeprefix(prefix)
                for start in within
                for page in pages.paginate(Bucket=bucket, Prefix=prefix + start)
                for entry in page.get("Contents", [])
            }
        except ClientError as error:
            if _code(error) in _ABSENT:
                return None
            raise

    def put(
        self, place: str, key: str, source: Path, *, rows: int
    ) -> Literal["written", "there", "denied"]:
        """Write a file with how many rows it has."""
        with source.open("rb") as body:
            return self._put(place, key, body, {"rows": str(rows)})

    def put_text(self, place: str, key: str, text: str) -> Literal["written", "there", "denied"]:
        """Write a text."""
        return self._put(place, key, BytesIO(text.encode()), {})

    def fetch(self, place: str, key: str, target: Path) -> int:
        """Read a file back, piece by piece, and return its rows."""
        bucket, prefix = _location(place)
        answer = self._client.get_object(Bucket=bucket, Key=prefix + key)
        with target.open("wb") as file:
            for piece in answer["Body"].iter_chunks(_READ_BYTES):
                file.write(piece)
        return int(answer["Metadata"]["rows"])

    def describe(self, place: str, key: str) -> StoredFile:
        """Return what was said of a file when it was written."""
        bucket, prefix = _location(place)
        answer = self._client.head_object(Bucket=bucket, Key=prefix + key)
        told = answer["Metadata"]
        return StoredFile(int(told["rows"]), int(answer["ContentLength"]), told["sha256"])

    def _put(
        self, place: str, key: str, body: BufferedReader | BytesIO, told: Mapping[str, str]
    ) -> Literal["written", "there", "denied"]:
        bucket, prefix = _location(place)
        digest = hashlib.file_digest(body, "sha256")
        body.seek(0)
        try:
            self._client.put_object(
                Bucket=bucket,
                Key=prefix + key,
                Body=body,
                ContentType=_TYPES.get(Path(key).suffix, "application/octet-stream"),
                # S3 compares it with what arrived.
                ChecksumSHA256=base64.b64encode(digest.digest()).decode(),
                Metadata={**told, "sha256": digest.hexdigest()},
                IfNoneMatch="*",
            )
        except ClientError as error:
            if _code(error) == "PreconditionFailed":
                return "there"
            if _code(error) in _ABSENT:
                return "denied"
            raise
        return "written"


def _location(place: str) -> tuple[str, str]:
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    return bucket, prefix


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code"))

"""Files written to S3 in parts, so that no file is ever held in memory."""

from collections.abc import Iterable, Iterator
from typing import Any

from botocore.exceptions import ClientError

from sluice.domain.limits import EXPORT_PART_BYTES

_REFUSED = {"AccessDenied", "403", "NoSuchBucket", "404"}


class Uploads:
    """Writes files by their ``s3://bucket/key``."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def write(self, uri: str, pieces: Iterable[bytes]) -> int | None:
        """Write a file whole, or not at all, and return its bytes; None: it may not be written."""
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        target = {"Bucket": bucket, "Key": key}
        try:
            upload = self._client.create_multipart_upload(
                **target, ContentType="text/csv; charset=utf-8"
            )
        except ClientError as error:
            if str(error.response.get("Error", {}).get("Code")) in _REFUSED:
                return None
            raise
        target["UploadId"] = upload["UploadId"]
        try:
            return self._write_parts(target, pieces)
        except BaseException:
            self._client.abort_multipart_upload(**target)
            raise

    def _write_parts(self, target: dict[str, str], pieces: Iterable[bytes]) -> int:
        parts: list[dict[str, Any]] = []
        size = 0
        for number, part in enumerate(_parts(pieces), start=1):
            answer = self._client.upload_part(**target, PartNumber=number, Body=part)
            parts.append({"PartNumber": number, "ETag": answer["ETag"]})
            size += len(part)
        self._client.complete_multipart_upload(**target, MultipartUpload={"Parts": parts})
        return size


def _parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield parts of the size that S3 wants, the last one of any size, and one at least."""
    part = bytearray()
    whole = 0
    for piece in pieces:
        part += piece
        if len(part) >= EXPORT_PART_BYTES:
            yield bytes(part)
            whole += 1
            part.clear()
    if part or not whole:
        yield bytes(part)

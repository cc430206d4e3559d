"""Files of template headers in S3: described, and read as a stream."""

from typing import Any

from botocore.exceptions import ClientError

from sluice.domain.media import MediaFile

_ABSENT = {"NoSuchKey", "NoSuchBucket", "404", "AccessDenied", "403"}
_CHANGED = {"PreconditionFailed", "412"}


class MediaFiles:
    """Reads files by their ``s3://bucket/key``."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def describe(self, uri: str) -> MediaFile | None:
        """Return the file as it is now; None: there is no such object, or not for us."""
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        try:
            head = self._client.head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if _code(error) in _ABSENT:
                return None
            raise
        told = str(head.get("ContentType", ""))
        return MediaFile(uri, str(head["ETag"]), int(head["ContentLength"]), told)

    def open(self, file: MediaFile) -> Any | None:
        """Return the content, to be read once; None if it changed or went meanwhile."""
        bucket, _, key = file.uri.removeprefix("s3://").partition("/")
        try:
            return self._client.get_object(Bucket=bucket, Key=key, IfMatch=file.etag)["Body"]
        except ClientError as error:
            if _code(error) in _ABSENT | _CHANGED:
                return None
            raise


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code"))

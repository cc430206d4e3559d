"""Audience files in S3, read as a stream of lines from any byte."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

_CHUNK_BYTES = 1024 * 1024
_LINE_BYTES_MAX = 1024 * 1024
_ABSENT = {"NoSuchKey", "NoSuchBucket", "404", "AccessDenied", "403"}


_CHANGED = {"PreconditionFailed", "412"}


class Audiences:
    """Reads audiences by their ``s3://bucket/key``."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def etag(self, uri: str) -> str | None:
        """Return what identifies the object's content; None: no such object, or not for us."""
        bucket, key = _location(uri)
        try:
            return str(self._client.head_object(Bucket=bucket, Key=key)["ETag"])
        except ClientError as error:
            if _code(error) in _ABSENT:
                return None
            raise

    def size_bytes(self, uri: str) -> int:
        """Return how large an object is; 0: there is none, or not for us."""
        bucket, key = _location(uri)
        try:
            return int(self._client.head_object(Bucket=bucket, Key=key)["ContentLength"])
        except ClientError as error:
            if _code(error) in _ABSENT:
                return 0
            raise

    def lines(self, uri: str, *, etag: str, offset: int) -> Iterator[bytes] | None:
        """Yield the lines from a byte on, with their ends; None if the content changed or went."""
        bucket, key = _location(uri)
        span = {"Range": f"bytes={offset}-"} if offset else {}
        try:
            answer = self._client.get_object(Bucket=bucket, Key=key, IfMatch=etag, **span)
        except ClientError as error:
            if _code(error) == "InvalidRange":
                return iter(())
            if _code(error) in _ABSENT | _CHANGED:
                return None
            raise
        return _lines(answer["Body"].iter_chunks(_CHUNK_BYTES))


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        parts = (rest + chunk).split(b"\n")
        rest = parts.pop()
        for part in parts:
            yield part + b"\n"
        # A file without line ends must not be gathered in memory: it goes on as several lines.
        while len(rest) > _LINE_BYTES_MAX:
            yield rest[:_LINE_BYTES_MAX]
            rest = rest[_LINE_BYTES_MAX:]
    if rest:
        yield rest


def _location(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code"))

"""Files written in parts: whole, or not at all."""

from collections.abc import Iterator

import pytest

from sluice.adapters.uploads import Uploads
from sluice.domain.limits import EXPORT_PART_BYTES

URI = "s3://audiences/suppressions.csv"


@pytest.fixture
def uploads(aws):
    aws.client("s3").create_bucket(Bucket="audiences")
    return Uploads(aws.client("s3"))


def content(aws):
    return aws.client("s3").get_object(Bucket="audiences", Key="suppressions.csv")["Body"].read()


@pytest.mark.parametrize(
    "pieces",
    [[], [b""], [b"a,b\n", b"c"], [b"x" * EXPORT_PART_BYTES], [b"x" * 1_000_001] * 17],
    ids=["nothing", "empty", "small", "one part", "many parts"],
)
def test_a_file_is_what_its_pieces_are(aws, uploads, pieces):
    assert uploads.write(URI, pieces) == len(b"".join(pieces))
    assert content(aws) == b"".join(pieces)


def test_a_file_that_fails_on_the_way_is_not_there_and_leaves_no_parts(aws, uploads):
    def pieces() -> Iterator[bytes]:
        yield b"x" * EXPORT_PART_BYTES
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - our own
        uploads.write(URI, pieces())

    storage = aws.client("s3")
    assert storage.list_objects_v2(Bucket="audiences")["KeyCount"] == 0
    assert storage.list_multipart_uploads(Bucket="audiences").get("Uploads", []) == []


def test_a_bucket_that_is_not_there_is_told(uploads):
    assert uploads.write("s3://nobody-has-it/a.csv", [b"a"]) is None

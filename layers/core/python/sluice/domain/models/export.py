"""kind=export: what is known of each recipient of a campaign, as files."""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from sluice.domain.exports import RECIPIENT_COLUMNS, Format
from sluice.domain.limits import EXPORT_PART_ROWS_MAX, EXPORT_PART_ROWS_MIN
from sluice.domain.models.common import ClientId, Model, unique

ColumnName = Literal[
    "seq",
    "address",
    "phone_number_id",
    "variant",
    "state",
    "status",
    "attempt",
    "error_code",
    "error_details",
    "wamid",
    "accepted_at",
    "sent_at",
    "delivered_at",
    "read_at",
    "failed_at",
]
assert set(get_args(ColumnName)) == {column.name for column in RECIPIENT_COLUMNS}

Columns = Annotated[tuple[ColumnName, ...], Field(min_length=1), AfterValidator(unique)]
Formats = Annotated[tuple[Format, ...], Field(min_length=1), AfterValidator(unique)]
Place = Annotated[str, Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/(.{0,900}/)?$")]


class ExportRequest(Model):
    """An export: the recipients of a campaign and what became of each, as files in S3."""

    kind: Literal["export"] = "export"
    """As the message attribute ``kind``."""
    campaign: ClientId
    """The campaign's id, as its request named it."""
    id: ClientId | None = None
    """Your own id among the exports of this campaign, for any but the first. Publishing the same
    export again changes nothing."""
    to: Place | None = None
    """``s3://bucket/prefix/`` to write below. Default: ``<campaign>/``, and with an id
    ``<campaign>/<id>/``, in the bucket of exports."""
    formats: Formats = ("csv", "parquet")
    """What each part is written as."""
    columns: Columns | None = None
    """Only these, in this order. Default: all of them."""
    parameters: bool = False
    """Export each recipient's parameters too, as one column of JSON."""
    rows_per_part: Annotated[int, Field(ge=EXPORT_PART_ROWS_MIN, le=EXPORT_PART_ROWS_MAX)] = (
        EXPORT_PART_ROWS_MAX
    )
    """Positions of the audience in one part."""

    def place(self, bucket: str) -> str:
        """Return ``s3://bucket/prefix/``; ``bucket`` is the one of exports."""
        if self.to is not None:
            return self.to
        names = [self.campaign] if self.id is None else [self.campaign, self.id]
        return "/".join([f"s3://{bucket}", *names, ""])

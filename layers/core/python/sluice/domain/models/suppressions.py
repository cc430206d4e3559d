"""kind=suppressions: who is not to be written to, or may be again; or all of them, as a file."""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator

from sluice.domain.addresses import ADDRESS_CHARACTERS_MAX
from sluice.domain.limits import (
    EXPORT_PREFIX,
    RECIPIENTS_INLINE_MAX,
    SUPPRESSION_REASON_CHARACTERS_MAX,
)
from sluice.domain.models.common import BUILT_LATER, ClientId, Model

_BUCKET: Final = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/"


class _Listed(Model):
    kind: Literal["suppressions"] = "suppressions"
    """As the message attribute ``kind``."""
    id: ClientId
    """Your own id. Publishing the same id again changes nothing."""


class ListRequest(_Listed):
    """Suppress people, or lift their suppressions."""

    action: Literal["suppress", "lift"]
    """Of two words about a person the later one counts."""
    scope: Literal["marketing", "all"]
    """``marketing``: campaigns of that category; ``all``: every message, replies too."""
    reason: Annotated[str, Field(min_length=1, max_length=SUPPRESSION_REASON_CHARACTERS_MAX)] = (
        "imported"
    )
    """Told with each message that it stops, so nothing about the person."""
    recipients: (
        Annotated[
            tuple[Annotated[str, Field(max_length=4 * ADDRESS_CHARACTERS_MAX)], ...],
            Field(min_length=1, max_length=RECIPIENTS_INLINE_MAX),
        ]
        | None
    ) = None
    """Addresses, or else:"""
    s3: Annotated[str, Field(pattern=_BUCKET + r".{1,1024}$")] | None = None
    """``s3://bucket/key`` of a CSV in UTF-8 with the column ``address``; a line's own ``reason``,
    ``scope`` and ``at`` go before those of the request."""

    @model_validator(mode="after")
    def _has_one_list(self) -> Self:
        if (self.recipients is None) == (self.s3 is None):
            raise ValueError("exactly one of recipients and s3 is needed")
        return self


class SuppressionsExport(_Listed):
    """Write every suppression in force to a file."""

    action: Literal["export"]
    """As of one moment."""
    s3: Annotated[str, Field(pattern=_BUCKET + EXPORT_PREFIX + r".{0,1000}$")]
    """``s3://bucket/key`` of the CSV, in the audience bucket; the key begins with
    ``suppressions``. What is there is replaced."""


SuppressionsRequest = ListRequest | SuppressionsExport
SUPPRESSIONS: Final[TypeAdapter[SuppressionsRequest]] = TypeAdapter(
    Annotated[SuppressionsRequest, Field(discriminator="action")],
    config=BUILT_LATER,
)
SUPPRESSIONS_ACTIONS: Final = frozenset(
    action
    for request in get_args(SuppressionsRequest)
    for action in get_args(request.model_fields["action"].annotation)
)

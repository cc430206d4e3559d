"""Variants of a campaign, and who is held out of it."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from sluice.domain.models.common import Model, Template
from sluice.domain.split import total_of

VARIANTS_MAX: Final = 10


class Variant(Model):
    """What a part of the people gets."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,24}$")]
    """Told in reports and exports."""
    share: Annotated[float, Field(gt=0, le=1, strict=False, allow_inf_nan=False)]
    """Of those who are not held out."""
    template: Template | None = None
    """Default: the campaign's."""


class Split(Model):
    """Decided for each person by a hash of the key and the person, and never again otherwise."""

    key: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """Campaigns with the same key, holdout and shares give a person the same side. Default: the
    campaign's id."""
    holdout: Annotated[float, Field(ge=0, lt=1, strict=False, allow_inf_nan=False)] = 0
    """The part of the people that gets nothing."""
    variants: Annotated[tuple[Variant, ...], Field(max_length=VARIANTS_MAX)] = ()
    """Who is in none of them gets the campaign's own template."""

    @model_validator(mode="after")
    def _splits(self) -> Self:
        names = [variant.name for variant in self.variants]
        total = total_of(variant.share for variant in self.variants)
        if not names and not self.holdout:
            raise ValueError("a holdout or variants are needed")
        if len(set(names)) < len(names):
            raise ValueError("two variants have the same name")
        if total > 1:
            raise ValueError(f"the shares of the variants sum to {total:g}, more than 1")
        return self

"""What Meta says of a message's price: its category, and whether it is charged.

No webhook tells an amount. Source: Meta, status webhooks and pricing.
"""

from typing import Final, NamedTuple

CATEGORIES: Final = (
    "other",
    "authentication",
    "authentication_international",
    "marketing",
    "marketing_lite",
    "utility",
    "service",
    "referral_conversion",
)
"""In the order of their codes, which are stored: append only. ``other`` is any that is newer."""
CHARGED_TYPE: Final = "regular"
"""Every other ``type`` is free: within a customer service window, or a free entry point."""


class Pricing(NamedTuple):
    """What was told of a message, once for its wamid."""

    category: str
    billable: bool

    @property
    def code(self) -> int:
        """The two in one small number."""
        return 2 * CATEGORIES.index(self.category) + self.billable

    @classmethod
    def of(cls, code: int) -> "Pricing":
        """The one that has this code."""
        return cls(CATEGORIES[code // 2], code % 2 == 1)


def pricing_of(pricing: object) -> Pricing | None:
    """The pricing of a compact status; None where it does not say whether it is charged.

    ``type`` decides: Meta is to give ``billable`` up.
    """
    if not isinstance(pricing, dict):
        return None
    kind, billable = pricing.get("type"), pricing.get("billable")
    if isinstance(kind, str):
        billable = kind == CHARGED_TYPE
    if not isinstance(billable, bool):
        return None
    category = str(pricing.get("category")).replace("-", "_")
    return Pricing(category if category in CATEGORIES else CATEGORIES[0], billable)

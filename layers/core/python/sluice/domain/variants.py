"""What a report's details say of the variants of a campaign."""

from collections.abc import Iterable, Sequence
from typing import Any

from sluice.domain.delivery import Status
from sluice.domain.split import NO_VARIANT
from sluice.domain.summary import Group, ended_by, is_failed, is_taken


def variants_of(groups: Iterable[Group], names: Sequence[str]) -> list[dict[str, Any]]:
    """Of each variant: people, and how many of them got how far. None where there are no variants.

    Whoever has none, and got the campaign's own template, comes last, without a name.
    """
    own: dict[int, list[Group]] = {place: [] for place in range(1, len(names) + 1)}
    for group in groups:
        if names:
            own.setdefault(group.variant, []).append(group)
    return [
        {"variant": names[place - 1] if place != NO_VARIANT else None, **_counts(found)}
        for place, found in own.items()
    ]


def _counts(groups: Sequence[Group]) -> dict[str, Any]:
    people = sum(group.deliveries for group in groups)
    counts = {
        "sent": sum(group.deliveries for group in groups if is_taken(group)),
        "delivered": _reached(groups, Status.DELIVERED),
        "read": _reached(groups, Status.READ),
        "failed": sum(group.deliveries for group in groups if is_failed(group)),
    }
    return {
        "recipients": people,
        **counts,
        "errors": {str(code): count for code, count in ended_by(groups).most_common()},
        "rates": {
            name: round(count / people, 4) if people else None for name, count in counts.items()
        },
    }


def _reached(groups: Iterable[Group], least: Status) -> int:
    return sum(group.deliveries for group in groups if Status[group.status.upper()] >= least)

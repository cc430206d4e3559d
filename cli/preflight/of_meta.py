"""What Meta's answers mean for a stage: pure, each fact to one check."""

from collections.abc import Iterator, Mapping
from typing import Final

from cli.preflight.checks import Check, Unreadable, failed, passed, warned
from cli.preflight.meta import KnownNumber
from infra.stage import Stage
from infra.stage_parts import Number

MESSAGES_PER_SECOND: Final = {"STANDARD": 80, "HIGH": 1_000}
"""By throughput level. Source: Meta, Cloud API, throughput."""
PEOPLE_IN_A_DAY: Final = {
    "TIER_50": 50,
    "TIER_250": 250,
    "TIER_1K": 1_000,
    "TIER_2K": 2_000,
    "TIER_10K": 10_000,
    "TIER_100K": 100_000,
}
"""By messaging limit, shared by a portfolio. Source: Meta, messaging limits, and older levels."""
UNLIMITED: Final = "TIER_UNLIMITED"
_MANAGER: Final = "WhatsApp Manager, Phone numbers"

Numbers = Mapping[str, KnownNumber] | Unreadable


def number_checks(
    stage: Stage, number: Number, known: Numbers, others: Mapping[str, Numbers]
) -> Iterator[Check]:
    """Everything about one number; ``known`` are those of its account, ``others`` by account."""
    name = f"number {number.phone_number_id}"
    if isinstance(known, Unreadable):
        remedy = "The token needs whatsapp_business_management for this account."
        yield failed(name, f"account {number.account_id} cannot be asked: {known.reason}", remedy)
        return
    found = known.get(number.phone_number_id)
    if found is None:
        yield failed(name, *_elsewhere(number, others))
        return
    yield passed(name, f"is of account {number.account_id}")
    yield _status(name, found)
    yield _quality(name, found)
    yield _throughput(name, number, found)
    yield _limit(name, stage.daily_limits.get(number.portfolio_id), found)


def _elsewhere(number: Number, others: Mapping[str, Numbers]) -> tuple[str, str]:
    for account_id, numbers in others.items():
        if not isinstance(numbers, Unreadable) and number.phone_number_id in numbers:
            return (
                f"is of account {account_id}, not of {number.account_id}",
                f"Set its account_id to {account_id}.",
            )
    return (
        f"account {number.account_id} has no such number",
        "phone_number_id is not the number that people see: look it up in WhatsApp Manager.",
    )


def _status(name: str, found: KnownNumber) -> Check:
    if found.status == "CONNECTED":
        return passed(f"{name}: status", found.status)
    remedy = f"Register it, or see what Meta holds against it: {_MANAGER}."
    return failed(f"{name}: status", found.status or "Meta does not tell", remedy)


def _quality(name: str, found: KnownNumber) -> Check:
    label = f"{name}: quality"
    if found.quality == "RED":
        return failed(label, "RED", "Send nothing until it has recovered: Meta is about to act.")
    if found.quality == "YELLOW":
        return warned(label, "YELLOW", "Send less, and only to people who want it.")
    return passed(label, found.quality or "not told")


def _throughput(name: str, number: Number, found: KnownNumber) -> Check:
    label, cap = f"{name}: throughput", number.messages_per_second
    granted = MESSAGES_PER_SECOND.get(found.throughput)
    if granted is None:
        told = found.throughput or "no level"
        remedy = "It sends nothing before it is registered for the Cloud API."
        return failed(label, f"Meta tells {told}", remedy)
    if cap > granted:
        return failed(
            label,
            f"{found.throughput} grants {granted} messages per second, the cap is {cap}",
            f"Set messages_per_second to {granted}, until Meta has upgraded the number.",
        )
    return passed(label, f"{found.throughput}, the cap is {cap}")


def _limit(name: str, configured: int | None, found: KnownNumber) -> Check:
    label = f"{name}: messaging limit"
    granted = PEOPLE_IN_A_DAY.get(found.messaging_limit)
    if granted is None:
        if found.messaging_limit == UNLIMITED:
            return passed(label, UNLIMITED)
        told = found.messaging_limit or "not told"
        return warned(label, told, "Set daily_limits of its portfolio by what Meta grants.")
    if configured is not None and configured > granted:
        return failed(
            label,
            f"{found.messaging_limit} is {granted} people in 24 hours, daily_limits {configured}",
            f"Set daily_limits of its portfolio to {granted}.",
        )
    return passed(label, f"{found.messaging_limit}: {granted} people in 24 hours")


def subscription_check(
    account_id: str, apps: frozenset[str] | Unreadable, app: str | Unreadable
) -> Check:
    """Whether the webhooks of an account come to the app of the token."""
    name = f"webhooks of account {account_id}"
    subscribe = f"POST /{account_id}/subscribed_apps with the token, as docs of Meta say."
    if isinstance(apps, Unreadable):
        return failed(name, apps.reason, "The token needs whatsapp_business_management.")
    if not apps:
        return failed(name, "no app is subscribed: no status and no reply would come", subscribe)
    listed = ", ".join(sorted(apps))
    if isinstance(app, Unreadable):
        remedy = "Compare them with the app of your token."
        return warned(name, f"go to {listed}; the token's app is unknown: {app.reason}", remedy)
    if app not in apps:
        return failed(name, f"go to {listed}, not to {app}, the app of the token", subscribe)
    return passed(name, f"go to {app}")

"""What no single value of a stage shows: numbers that exclude each other, names of nobody."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from infra.stage import WEBHOOKS_PER_SEND, Stage
from infra.stage_parts import AuroraDatabase, GivenDatabase

NUMBERS_PER_BUCKET_MAX: Final = 23
"""A number takes 21 of the 500 resources that a stack may have; some are kept free."""


def stage_problems(stage: Stage) -> Iterator[str]:
    """Everything wrong between the values of a stage."""
    yield from number_problems(stage)
    yield from egress_problems(stage)
    yield from webhook_problems(stage)
    yield from portfolio_problems(stage)
    yield from approval_problems(stage)
    yield from journal_problems(stage)


def number_problems(stage: Stage) -> Iterator[str]:
    """Numbers that appear twice, buckets that hold too many."""
    for phone_number_id, count in Counter(n.phone_number_id for n in stage.numbers).items():
        if count > 1:
            yield f"numbers: {phone_number_id} appears {count} times: its cap would be doubled"
    for bucket, count in Counter(n.bucket for n in stage.numbers).items():
        if count > NUMBERS_PER_BUCKET_MAX:
            yield f"numbers: bucket {bucket} holds {count}, at most {NUMBERS_PER_BUCKET_MAX}"


def egress_problems(stage: Stage) -> Iterator[str]:
    """A way out that nothing takes, or that does not exist."""
    if stage.egress != "ipv6":
        return
    if isinstance(stage.database, GivenDatabase):
        yield "egress: beside a given database no network is made, so ipv6 says nothing"
    if stage.region.startswith("cn-"):
        yield "egress: AWS in China is reached by other IPv6 addresses, which are not known here"


def webhook_problems(stage: Stage) -> Iterator[str]:
    """A webhook that would turn Meta away."""
    if stage.webhook_rate < stage.webhooks_per_second_max:
        yield (
            f"webhook_requests_per_second: {stage.webhook_rate} is under what Meta may bring, "
            f"{stage.webhooks_per_second_max}: {WEBHOOKS_PER_SEND} for each send"
        )


def journal_problems(stage: Stage) -> Iterator[str]:
    """Logs that are gone before the backups that need them."""
    if isinstance(stage.database, AuroraDatabase):
        kept, needed = stage.log_retention_days, stage.database.backup_days
        if kept < needed:
            yield (
                f"log_retention_days: {kept} is less than backup_days, {needed}: what has left"
                " since a backup is in the senders' logs"
            )


def portfolio_problems(stage: Stage) -> Iterator[str]:
    """Accounts in two portfolios, daily limits of portfolios that no number is of."""
    portfolios = defaultdict(set)
    for number in stage.numbers:
        portfolios[number.account_id].add(number.portfolio_id)
    for account_id, owners in portfolios.items():
        if len(owners) > 1:
            named = " and ".join(sorted(owners))
            yield f"numbers: account {account_id} is in the portfolios {named}: it has one owner"
    for portfolio_id in stage.daily_limits.keys() - {n.portfolio_id for n in stage.numbers}:
        yield f"daily_limits: no number is of the portfolio {portfolio_id}"


def approval_problems(stage: Stage) -> Iterator[str]:
    """Campaigns that nobody could let go, approvers who are named twice."""
    if stage.approval_above_recipients is not None and not stage.approvers:
        yield "approval_above_recipients: without approvers a large campaign would wait for ever"
    for approver, count in Counter(stage.approvers).items():
        if count > 1:
            yield f"approvers: {approver} appears {count} times"

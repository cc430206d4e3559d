"""What Meta limits by day, by portfolio, and the contacts that count against it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sluice.adapters.postgres.connection import Database
from sluice.domain.budget import Allowance
from sluice.domain.limits import DAILY_LIMIT_SECONDS

# One statement, one snapshot: a delivery that is claimed meanwhile is either queued or a contact,
# never neither. `numbers` null: of every portfolio.
ALLOWANCES = """
SELECT portfolio_id, daily_limit,
       (SELECT count(*) FROM (
            SELECT DISTINCT match_key FROM contact
            WHERE contact.portfolio_id = portfolio.portfolio_id AND sent_at > %(since)s
        ) AS person),
       (SELECT COALESCE(sum(counter.deliveries), 0)::bigint
        FROM campaign JOIN campaign_counter AS counter USING (campaign_id)
        WHERE campaign.finished_at IS NULL AND counter.state = 'queued'
          AND counter.phone_number_id = ANY (member.numbers)),
       member.numbers
FROM portfolio
CROSS JOIN LATERAL (
    SELECT array_agg(phone_number_id ORDER BY phone_number_id) AS numbers
    FROM number WHERE number.portfolio_id = portfolio.portfolio_id
) AS member
WHERE daily_limit IS NOT NULL
  AND (%(numbers)s::text[] IS NULL OR member.numbers && %(numbers)s::text[])
ORDER BY portfolio_id
"""
# What Meta told stands, whatever the configuration says.
CONFIGURE_PORTFOLIO = """
INSERT INTO portfolio (portfolio_id, daily_limit, limit_source)
VALUES (%(portfolio_id)s, %(daily_limit)s, 'configuration')
ON CONFLICT (portfolio_id) DO UPDATE SET daily_limit = excluded.daily_limit
WHERE portfolio.told_at IS NULL AND portfolio.daily_limit IS DISTINCT FROM excluded.daily_limit
"""
# The latest word counts, in whatever order words come; of two of one second, the lower limit.
TELL = """
INSERT INTO portfolio (portfolio_id, daily_limit, limit_source, told_at)
SELECT DISTINCT portfolio_id, %(daily_limit)s::int, %(source)s, %(at)s::timestamptz
FROM number WHERE account_id = %(account_id)s ORDER BY 1
ON CONFLICT (portfolio_id) DO UPDATE
SET daily_limit = excluded.daily_limit, limit_source = excluded.limit_source,
    told_at = excluded.told_at
WHERE portfolio.told_at IS NULL OR portfolio.told_at < excluded.told_at
   OR (portfolio.told_at = excluded.told_at
       AND excluded.daily_limit < COALESCE(portfolio.daily_limit, excluded.daily_limit + 1))
"""
FORGET_CONTACTS = """
WITH gone AS (
    DELETE FROM contact WHERE ctid = ANY (ARRAY(
        SELECT old.ctid FROM portfolio
        CROSS JOIN LATERAL (
            SELECT ctid FROM contact
            WHERE contact.portfolio_id = portfolio.portfolio_id AND sent_at <= %(before)s
            ORDER BY sent_at LIMIT %(limit)s
        ) AS old
        LIMIT %(limit)s
    ))
    RETURNING 1
)
SELECT count(*) FROM gone
"""


class Limits:
    """Limits of portfolios, and contacts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tell(self, account_id: str, daily_limit: int | None, *, source: str, at: datetime) -> None:
        """Set the limit of the portfolio whose account this is; None: it has none any more."""
        parameters = {"account_id": account_id, "daily_limit": daily_limit}
        self._database.fetch(TELL, {**parameters, "source": source, "at": at})

    def forget_contacts(self, *, before: datetime, limit: int) -> int:
        """Delete up to ``limit`` contacts that nothing counts any more, and return how many."""
        parameters = {"before": before, "limit": limit}
        return int(self._database.fetch(FORGET_CONTACTS, parameters)[0][0])


def allowance_of(row: Sequence[Any]) -> Allowance:
    """Return a row of ALLOWANCES."""
    portfolio_id, daily_limit, contacted, queued, numbers = row
    return Allowance(portfolio_id, daily_limit, contacted, queued, tuple(numbers or ()))


def since(now: datetime) -> datetime:
    """Return the moment after which a contact counts against its portfolio's limit."""
    return now - timedelta(seconds=DAILY_LIMIT_SECONDS)


def portfolio_columns(number: Mapping[str, Any]) -> dict[str, Any]:
    """Return what CONFIGURE_PORTFOLIO needs of a number's configuration."""
    return {"portfolio_id": number["portfolio_id"], "daily_limit": number.get("daily_limit")}

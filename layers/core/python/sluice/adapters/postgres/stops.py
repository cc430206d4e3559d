"""What stops sending, and what lets it go on: pauses of numbers, accounts and campaigns."""

from datetime import datetime
from typing import Any

from sluice.adapters.postgres.audit import by_meta
from sluice.adapters.postgres.connection import Database
from sluice.domain.brakes import StopAccount, StopNumber
from sluice.domain.clock import FOREVER
from sluice.domain.limits import (
    RATE_CLIMB,
    RATE_CLIMB_SECONDS,
    RATE_FACTOR_MIN,
    THROTTLE_APART_SECONDS,
)
from sluice.domain.signals import (
    TEMPLATE_PAUSED,
    TEMPLATE_PAUSED_CODES,
    TEMPLATE_RECATEGORISED,
)

# A pause for a code that had one before, over for no longer than it lasted, is twice as long. What
# others meet meanwhile is the same pause.
STOP_SENDING = """
WITH next AS MATERIALIZED (
    SELECT phone_number_id,
           GREATEST(%(until)s::timestamptz, CASE WHEN backoff_code = %(code)s::int THEN CASE
               WHEN backoff_until > %(now)s THEN backoff_until
               WHEN backoff_until > %(now)s - make_interval(secs => backoff_seconds)
               THEN %(now)s + make_interval(secs => LEAST(%(longest)s::real, 2 * backoff_seconds))
           END END) AS until,
           CASE WHEN backoff_code = %(code)s::int AND backoff_until > %(now)s
                THEN backoff_seconds END AS seconds
    FROM number
    WHERE CASE %(reach)s::text
        WHEN 'number' THEN phone_number_id = %(phone_number_id)s
        WHEN 'account' THEN account_id = (
            SELECT account_id FROM number WHERE phone_number_id = %(phone_number_id)s)
        ELSE true END
    ORDER BY phone_number_id FOR UPDATE
)
UPDATE number
SET pause_reason = CASE WHEN paused_until >= next.until THEN pause_reason ELSE %(reason)s END,
    paused_until = GREATEST(paused_until, next.until),
    backoff_code = COALESCE(%(code)s::int, backoff_code),
    backoff_until = CASE WHEN %(code)s::int IS NULL THEN backoff_until ELSE next.until END,
    backoff_seconds = CASE WHEN %(code)s::int IS NULL THEN backoff_seconds
        ELSE COALESCE(next.seconds, extract(epoch FROM next.until - %(now)s)) END
FROM next WHERE number.phone_number_id = next.phone_number_id
RETURNING number.phone_number_id
"""
# Halved from what it had climbed to; a storm of refusals halves it once.
THROTTLE_NUMBER = """
UPDATE number
SET rate_factor = CASE
        WHEN throttled_at > %(now)s - make_interval(secs => %(apart)s) THEN rate_factor
        ELSE GREATEST(%(least)s, LEAST(1, rate_factor + %(climb)s * COALESCE(floor(
            extract(epoch FROM %(now)s - throttled_at) / %(climb_seconds)s), 0)) / 2)
    END,
    throttled_at = CASE
        WHEN throttled_at > %(now)s - make_interval(secs => %(apart)s) THEN throttled_at
        ELSE %(now)s
    END
WHERE phone_number_id = %(phone_number_id)s
"""
PAUSE_NUMBERS = """
UPDATE number
SET pause_reason = CASE WHEN paused_until >= %(until)s THEN pause_reason ELSE %(reason)s END,
    paused_until = GREATEST(paused_until, %(until)s)
WHERE account_id = %(account_id)s
RETURNING phone_number_id
"""
RESUME_NUMBERS = """
UPDATE number SET paused_until = NULL, pause_reason = NULL
WHERE account_id = %(account_id)s AND starts_with(pause_reason, %(prefix)s)
RETURNING phone_number_id
"""
# A number's direct sends have nothing to do with one another, and nobody could resume them.
PAUSE_CAMPAIGN = """
UPDATE campaign SET state = 'paused', reason = %(reason)s, paused_until = %(until)s
WHERE campaign_id = %(campaign_id)s AND state = 'running' AND kind = 'campaign'
"""
# The campaign's own template, or one of its variants'.
_SENDS = """
EXISTS (
    SELECT FROM (
        SELECT request -> 'template' AS template
        UNION ALL SELECT jsonb_path_query(request, '$.split.variants[*].template')
    ) AS sent
    WHERE template ->> 'name' = %(name)s
      AND COALESCE(lower(template ->> 'language') = %(language)s, true)
) AND numbers && ARRAY(SELECT phone_number_id FROM number WHERE account_id = %(account_id)s)
"""
# A pause of a template ends in the year 9999, which no person's pause does: whatever reason a
# person gives, it is theirs to end. It takes over what had stopped because of the template, and
# what would go on by itself.
PAUSE_TEMPLATE = f"""
UPDATE campaign SET state = 'paused', reason = %(reason)s, paused_until = %(forever)s
WHERE kind = 'campaign'
  AND (state = 'running' OR (state = 'paused' AND (
      paused_until IS NOT NULL OR split_part(reason, ' ', 1) = ANY (%(codes)s)
  )))
  AND {_SENDS}
RETURNING campaign_id
"""  # noqa: S608 - our own condition
# The price and the limits are others now: a person decides, about what would go on by itself too.
PAUSE_RECATEGORISED = f"""
UPDATE campaign SET state = 'paused', reason = %(reason)s, paused_until = NULL
WHERE kind = 'campaign' AND request ->> 'category' = 'utility'
  AND (state = 'running' OR (state = 'paused' AND paused_until IS NOT NULL))
  AND {_SENDS}
RETURNING campaign_id
"""  # noqa: S608 - our own condition
RESUME_TEMPLATE = f"""
UPDATE campaign SET state = 'running', reason = NULL, paused_until = NULL
WHERE kind = 'campaign' AND state = 'paused'
  AND starts_with(reason, %(prefix)s) AND paused_until = %(forever)s
  AND {_SENDS}
RETURNING campaign_id
"""  # noqa: S608 - our own condition


class Stops:
    """Pauses, in force at the next claim, which asks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stop_sending(
        self, phone_number_id: str, stop: StopNumber | StopAccount, *, now: datetime
    ) -> bool:
        """Stop the number, its account or the whole app; False: there is no such number."""
        if isinstance(stop, StopNumber) and stop.slower:
            self.throttle_number(phone_number_id, now=now)
        reach = "number"
        if isinstance(stop, StopAccount):
            reach = "app" if stop.whole_app else "account"
        backoff = stop.backoff
        parameters = {
            "phone_number_id": phone_number_id,
            "reach": reach,
            "until": stop.until,
            "reason": stop.reason,
            "code": backoff and backoff.code,
            "longest": backoff and backoff.longest_seconds,
            "now": now,
        }
        return bool(self._database.fetch(STOP_SENDING, parameters))

    def pause_numbers(self, account_id: str, *, until: datetime, reason: str) -> int:
        """Stop every number of an account; returns how many it has."""
        parameters = {"account_id": account_id, "until": until, "reason": reason}
        return by_meta(self._database, PAUSE_NUMBERS, parameters)

    def resume_numbers(self, account_id: str, *, prefix: str) -> int:
        """Let the account's numbers send whose reason to pause begins so; returns how many."""
        parameters = {"account_id": account_id, "prefix": prefix}
        return by_meta(self._database, RESUME_NUMBERS, parameters)

    def throttle_number(self, phone_number_id: str, *, now: datetime) -> None:
        """Halve the rate of the number; it climbs back by itself."""
        self._database.fetch(
            THROTTLE_NUMBER,
            {
                "phone_number_id": phone_number_id,
                "now": now,
                "apart": THROTTLE_APART_SECONDS,
                "least": RATE_FACTOR_MIN,
                "climb": RATE_CLIMB,
                "climb_seconds": RATE_CLIMB_SECONDS,
            },
        )

    def pause_campaign(self, campaign_id: int, *, until: datetime | None, reason: str) -> None:
        """Stop a running campaign and say why; None: until somebody resumes it."""
        parameters = {"campaign_id": campaign_id, "until": until, "reason": reason}
        self._database.fetch(PAUSE_CAMPAIGN, parameters)

    def pause_template(
        self, account_id: str, *, name: str, language: str | None, reason: str
    ) -> int:
        """Stop the campaigns that use the template on a number of the account; returns how many.

        ``reason`` begins with TEMPLATE_PAUSED; ``language`` None: whatever language they use.
        """
        parameters = {
            **_template(account_id, name, language),
            "reason": reason,
            "codes": [str(code) for code in TEMPLATE_PAUSED_CODES],
        }
        return by_meta(self._database, PAUSE_TEMPLATE, parameters)

    def pause_recategorised(self, account_id: str, *, name: str, language: str | None) -> int:
        """Stop running campaigns that said utility of a template which is marketing by now."""
        parameters = {**_template(account_id, name, language), "reason": TEMPLATE_RECATEGORISED}
        return by_meta(self._database, PAUSE_RECATEGORISED, parameters)

    def resume_template(self, account_id: str, *, name: str, language: str | None) -> int:
        """Let the campaigns go on that ``pause_template`` stopped, and no others."""
        return by_meta(self._database, RESUME_TEMPLATE, _template(account_id, name, language))


def _template(account_id: str, name: str, language: str | None) -> dict[str, Any]:
    return {
        "account_id": account_id,
        "name": name,
        "language": language,
        "prefix": TEMPLATE_PAUSED,
        "forever": FOREVER,
    }

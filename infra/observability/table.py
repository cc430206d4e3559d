"""The table of alarms: everything that needs a person, and nothing that mends itself.

Each row is documented under its name in the runbook; a test holds the two together. Silence is good
news for most: queues that idle for six hours stop reporting, and functions emit what happened. It
is bad news only of what must run every minute, or every hour.
"""

from typing import Final

from infra.observability.running import DATABASE, FUNCTIONS, QUEUES, TOPICS
from infra.observability.sending import SENDING, WEBHOOKS

TABLE: Final = (*QUEUES, *TOPICS, *FUNCTIONS, *SENDING, *WEBHOOKS, *DATABASE)
DATABASE_AWAY: Final = "database-away"
DATABASE_AWAY_MEANING: Final = (
    "Whatever runs every minute with the database fails at once: the database is away, or nobody "
    "may sign in. Nothing is lost; alarms that follow from it are silent meanwhile."
)
DATABASE_AWAY_SIGNS: Final = ("dispatch", "reconcile")
"""Functions that do little else than to ask the database, every minute."""

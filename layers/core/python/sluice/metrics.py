"""Every metric that functions emit: its name, unit, dimensions and meaning.

``adapters.telemetry`` emits what is listed here and only logs the rest; ``infra`` builds alarms and
dashboards on it. Each value of the dimensions is a metric that is paid for, so the list is short,
and a campaign is never a dimension: what is asked by campaign is asked of the log.
"""

from dataclasses import dataclass
from typing import Final, Literal

COUNT: Final = "Count"
SECONDS: Final = "Seconds"
MILLISECONDS: Final = "Milliseconds"
Unit = Literal["Count", "Seconds", "Milliseconds"]

Dimensions = tuple[str, ...]
BY_SERVICE: Final[Dimensions] = ()
BY_NUMBER: Final[Dimensions] = ("phone_number_id",)
BY_LANE: Final[Dimensions] = ("phone_number_id", "lane")


def namespace_of(stage: str) -> str:
    """Return the namespace of a stage's metrics: two stages of one account must not mix."""
    return f"Sluice/{stage}"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One name, under ``service`` and each of these further dimensions."""

    name: str
    unit: Unit
    services: frozenset[str]
    """The steps that emit it."""
    by: tuple[Dimensions, ...] = (BY_SERVICE,)
    gauge: bool = False
    """How much there is, not how much was done: emitted where it is zero, too."""


def _metric(
    name: str,
    unit: Unit,
    *services: str,
    by: tuple[Dimensions, ...] = (BY_SERVICE,),
    gauge: bool = False,
) -> Metric:
    return Metric(name=name, unit=unit, services=frozenset(services), by=by, gauge=gauge)


# Of a batch of a sender. What a number does, over both lanes, is by number; where lanes differ, by
# lane; what an alarm of the whole stage asks for, by service.
SENDS: Final = _metric("Sends", COUNT, "send", by=(BY_SERVICE, BY_LANE))
"""Requests to the Cloud API that were started, each in its place of the pace."""
CONCLUDED: Final = _metric("Concluded", COUNT, "send", by=(BY_SERVICE, BY_NUMBER))
"""Requests whose answer was the last word of the send: accepted, held or failed. Sends by it are
the attempts per message."""
THROTTLED: Final = _metric("Throttled", COUNT, "send", by=(BY_SERVICE, BY_NUMBER))
"""Answers that say too fast (130429 and its like), or no connection."""
FAILED: Final = _metric("Failed", COUNT, "send", by=(BY_SERVICE, BY_NUMBER))
"""Answers that are final for their person; which, says the line ``refused`` by code."""
RETRIED: Final = _metric("Retried", COUNT, "send")
"""Answers after which the person is tried again later."""
UNANSWERED: Final = _metric("Unanswered", COUNT, "send")
"""Requests whose answer was lost: the row is unknown."""
PACED_TIME: Final = _metric("PacedTime", SECONDS, "send", by=(BY_LANE,))
"""What an invocation waited for the pace. Near zero while work waits: something else is slow."""
API_LATENCY: Final = _metric("ApiLatency", MILLISECONDS, "send", by=(BY_NUMBER,))
"""From the request's leaving to its answer, each request: percentiles are exact."""
CLAIM_TIME: Final = _metric("ClaimTime", MILLISECONDS, "send")
"""How long the database took for a claim, each claim."""
ENDED_EARLY: Final = _metric("SendersEndedEarly", COUNT, "send")
"""Invocations that something ended, mostly the database; their chunks come again."""

# Of a run of reconcile, every minute, read from the counters.
ROWS_PENDING: Final = _metric("RowsPending", COUNT, "reconcile", gauge=True)
"""Deliveries of open campaigns that wait to be queued."""
ROWS_QUEUED: Final = _metric("RowsQueued", COUNT, "reconcile", gauge=True)
"""Deliveries that lie in a number's queue."""
ROWS_SENDING: Final = _metric("RowsSending", COUNT, "reconcile", gauge=True)
"""Deliveries that a sender has claimed; about two seconds of work."""
ROWS_UNKNOWN: Final = _metric("RowsUnknown", COUNT, "reconcile", gauge=True)
"""Deliveries whose answer was lost and of which no status has told yet."""
ROWS_STUCK: Final = _metric("RowsStuck", COUNT, "reconcile")
"""Deliveries whose sender died: their lease was over, and they became unknown."""
NUMBERS_PAUSED: Final = _metric("NumbersPaused", COUNT, "reconcile", gauge=True)
"""Numbers that nothing but a person resumes."""
CAMPAIGNS_PAUSED: Final = _metric("CampaignsPaused", COUNT, "reconcile", gauge=True)
"""Campaigns that nothing but a person, or Meta, lets go on."""
AWAITING_APPROVAL: Final = _metric("CampaignsAwaitingApproval", COUNT, "reconcile", gauge=True)
"""Campaigns that are held until somebody approves them."""

# Of webhooks, from Meta's call to the row.
STATUSES_RECEIVED: Final = _metric("StatusesReceived", COUNT, "webhook")
"""Statuses that Meta brought, signed."""
SIGNALS_RECEIVED: Final = _metric("SignalsReceived", COUNT, "webhook")
"""Whatever else Meta brought, signed."""
WEBHOOKS_REFUSED: Final = _metric("WebhooksRefused", COUNT, "webhook")
"""Calls that were not answered with 200: a signature that no secret fits, or a queue away."""
STATUSES_APPLIED: Final = _metric("StatusesApplied", COUNT, "status")
"""Statuses that were written."""
WEBHOOK_LAG: Final = _metric("WebhookLag", SECONDS, "status")
"""From Meta's own time of the oldest status of a batch until it is written."""
SENT_TO_DELIVERED: Final = _metric("SentToDelivered", SECONDS, "status")
"""From Meta's time of ``sent`` to that of ``delivered``, where one batch brings both."""
STATUSES_INVALID: Final = _metric("StatusesInvalid", COUNT, "status")
"""Statuses that nobody here understands."""

# Of the others.
NEEDS_PERSON: Final = _metric("NeedsPerson", COUNT, "send", "status", "signal", "reconcile")
"""Pauses of a campaign, a number or an account, and codes that the error table does not have."""
PARKED: Final = _metric(
    "Parked", COUNT, "approve", "campaign", "command", "erase", "export", "redrive", "schedule",
    "send", "signal", "status",
)  # fmt: skip
"""Messages that no retry can help."""
DISPATCHED: Final = _metric("Dispatched", COUNT, "dispatch")
"""Deliveries that were queued."""
PORTFOLIOS_AT_LIMIT: Final = _metric("PortfoliosAtLimit", COUNT, "dispatch", gauge=True)
"""Portfolios whose daily limit is used up, while there is more to send."""
REDRIVEN: Final = _metric("Redriven", COUNT, "redrive")
"""Dead letters that went back to their queue."""
REDRIVE_FAILURES: Final = _metric("RedriveFailures", COUNT, "redrive")
"""Dead-letter queues that redrive could not work on."""
STARTS_SKIPPED: Final = _metric("StartsSkipped", COUNT, "schedule")
"""Starts of schedules that were not made."""

METRICS: Final = {value.name: value for value in tuple(vars().values()) if type(value) is Metric}
"""All of them, by name."""

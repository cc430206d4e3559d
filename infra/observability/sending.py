"""Alarms on what is sent, and on what Meta tells of it."""

from typing import Final

from aws_cdk.aws_cloudwatch import ComparisonOperator

from infra.observability import formulas
from infra.observability.rows import Row
from infra.observability.subjects import numbers, of_service, of_stage, of_the_api, services, stage
from sluice import metrics

ATTEMPTS_PER_MESSAGE_MAX: Final = 1.5
THROTTLED_PERCENT_MAX: Final = 1.0
RATE_USED_PERCENT_MIN: Final = 70.0
WEBHOOK_LAG_SECONDS_MAX: Final = 600.0
WEBHOOKS_REFUSED_MAX: Final = 20.0

SENDING: Final = (
    Row(
        name="needs-person",
        meaning="A campaign, a number or an account was stopped, or Meta used a code that the "
        "error table does not have.",
        subjects=services(metrics.NEEDS_PERSON),
        series=of_service(metrics.NEEDS_PERSON),
    ),
    Row(
        name="awaiting-approval",
        meaning="A campaign goes to so many people that an approver must agree, and waits for it.",
        subjects=stage,
        series=of_stage(metrics.AWAITING_APPROVAL, "reconcile", "Maximum"),
    ),
    Row(
        name="number-paused",
        meaning="A number sends nothing until somebody resumes it.",
        subjects=stage,
        series=of_stage(metrics.NUMBERS_PAUSED, "reconcile", "Maximum"),
        periods=3,
    ),
    Row(
        name="campaign-paused",
        meaning="A campaign sends nothing until somebody resumes or cancels it.",
        subjects=stage,
        series=of_stage(metrics.CAMPAIGNS_PAUSED, "reconcile", "Maximum"),
        periods=3,
    ),
    Row(
        name="throttled-by-meta",
        meaning="Meta refuses over 1 % of this number's requests as too fast, for a quarter of an "
        "hour: its cap is lower than configured, or somebody else sends by it.",
        subjects=numbers,
        series=formulas.throttled_percent_of_number,
        threshold=THROTTLED_PERCENT_MAX,
        periods=3,
    ),
    Row(
        name="too-many-attempts",
        meaning="Over 1.5 requests are made for each message that ends.",
        subjects=stage,
        series=formulas.attempts_per_message,
        threshold=ATTEMPTS_PER_MESSAGE_MAX,
        periods=6,
    ),
    Row(
        name="rate-unused",
        meaning="Work waits, and this number sends at less than 70 % of its rate.",
        subjects=numbers,
        series=formulas.rate_used_percent,
        threshold=RATE_USED_PERCENT_MIN,
        comparison=ComparisonOperator.LESS_THAN_THRESHOLD,
        periods=3,
        pooled=True,
    ),
    Row(
        name="rows-stuck",
        meaning="Senders die before they record what they sent: their rows become unknown.",
        subjects=stage,
        series=of_stage(metrics.ROWS_STUCK, "reconcile", "Sum"),
        periods=3,
    ),
    Row(
        name="unknown-growing",
        meaning="More and more sends have no answer and no status: whether those people got their "
        "message, nobody knows.",
        subjects=stage,
        series=formulas.unknown_growth,
        periods=6,
    ),
    Row(
        name="starts-skipped",
        meaning="A schedule's campaign was not started.",
        subjects=stage,
        series=of_stage(metrics.STARTS_SKIPPED, "schedule", "Sum"),
    ),
)
WEBHOOKS: Final = (
    Row(
        name="webhook-silence",
        meaning="Messages leave, and Meta has told nothing of any for a quarter of an hour.",
        subjects=stage,
        series=formulas.webhook_silence,
        periods=3,
    ),
    Row(
        name="webhook-5xx",
        meaning="Meta's calls are answered with a server error: it brings them again, for a while.",
        subjects=stage,
        series=of_the_api("5xx"),
        breaching=2,
        periods=3,
    ),
    Row(
        name="webhook-refused",
        meaning="Many calls of the webhook are refused: their signature fits no secret that we "
        "have, or somebody else makes them.",
        subjects=stage,
        series=of_stage(metrics.WEBHOOKS_REFUSED, "webhook", "Sum"),
        threshold=WEBHOOKS_REFUSED_MAX,
        periods=3,
    ),
    Row(
        name="webhook-lag",
        meaning="Statuses are written over ten minutes after Meta says that they happened.",
        subjects=stage,
        series=of_stage(metrics.WEBHOOK_LAG, "status", "p50"),
        threshold=WEBHOOK_LAG_SECONDS_MAX,
        periods=3,
    ),
    Row(
        name="statuses-invalid",
        meaning="Meta brings statuses that nobody here understands.",
        subjects=stage,
        series=of_stage(metrics.STATUSES_INVALID, "status", "Sum"),
    ),
)

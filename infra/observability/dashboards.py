"""Two dashboards: the operator's, of the whole stage, and that of one campaign.

A campaign is no dimension of a metric, so its dashboard asks the log: reconcile writes where each
open campaign stands every minute, and senders write what was refused. What it shows of numbers is
of everything that they send.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.observability import formulas, machinery
from infra.observability.inventory import Inventory
from infra.observability.machinery import Widgets
from infra.observability.questions import (
    CAMPAIGN,
    ENDED,
    LOG_GROUPS_MAX,
    REFUSED,
    ROWS,
    STANDING,
    TOLD,
)
from infra.observability.rows import Watched
from infra.observability.sending import (
    ATTEMPTS_PER_MESSAGE_MAX,
    RATE_USED_PERCENT_MIN,
    THROTTLED_PERCENT_MAX,
    WEBHOOK_LAG_SECONDS_MAX,
)
from infra.observability.series import (
    of_api,
    of_ours,
)
from infra.observability.widgets import all_of, each_number, graph, lines, ours, table
from sluice import metrics

PERCENTILES: Final = ("p50", "p95", "p99")


class Dashboards(Construct):
    """Both, over everything that is deployed."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        watched: Watched,
        senders: Inventory,
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:
        """``watched`` has the inventory of what numbers share; ``senders`` that of all numbers."""
        super().__init__(scope, construct_id)
        self._watched = replace(watched, numbers=watched.stage.numbers)
        self._senders = senders
        self._operator(alarms)
        self._campaign()

    def _operator(self, alarms: Sequence[cloudwatch.IAlarm]) -> None:
        cloudwatch.Dashboard(
            self,
            "Operator",
            dashboard_name=self._watched.names.of("operator"),
            default_interval=Duration.hours(3),
            widgets=[
                [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=24)],
                self._sending(),
                self._answers(),
                self._rows(),
                self._webhooks(),
                self._upkeep(),
                machinery.queues(self._watched, self._senders, "numbers"),
                machinery.queues(self._watched, self._watched.inventory, "steps"),
                machinery.functions(self._watched, self._senders, "senders"),
                machinery.functions(self._watched, self._watched.inventory, "steps"),
                machinery.topics(self._watched),
                *([machinery.database(self._watched)] if self._watched.place.cluster else []),
            ],
        )

    def _campaign(self) -> None:
        reconcile = [self._watched.names.path("reconcile")]
        senders = self._senders.log_groups[:LOG_GROUPS_MAX]
        place = self._watched.place
        cloudwatch.Dashboard(
            self,
            "Campaign",
            dashboard_name=self._watched.names.of("campaign"),
            default_interval=Duration.hours(3),
            variables=[
                cloudwatch.DashboardVariable(
                    id="campaign_id",
                    label="campaign_id (see the first table)",
                    type=cloudwatch.VariableType.PATTERN,
                    input_type=cloudwatch.VariableInputType.INPUT,
                    value=CAMPAIGN,
                    default_value=cloudwatch.DefaultValue.value("1"),
                )
            ],
            widgets=[
                [table("Open campaigns: which id has which?", STANDING, reconcile)],
                [
                    lines("Rows of this campaign", ROWS, reconcile),
                    lines("What Meta told of its messages", TOLD, reconcile),
                    lines("Ended otherwise", ENDED, reconcile),
                ],
                [table("Refused by code: this and other campaigns", REFUSED, senders)],
                [
                    graph(
                        "Sends/s by number, of all campaigns",
                        each_number(place, metrics.SENDS, per_second=True),
                    ),
                    self._latency(),
                    self._lag(),
                ],
            ],
        )

    def _sending(self) -> Widgets:
        place, watched = self._watched.place, self._watched
        used = [
            formulas.rate_used_percent(watched, number.phone_number_id)
            .renamed(number.phone_number_id)
            .metric(minutes=5, label=number.phone_number_id)
            for number in watched.numbers
        ]
        sends = each_number(place, metrics.SENDS, per_second=True)
        rates = {
            f"rate of {n.phone_number_id}": watched.stage.send_rate(n) for n in watched.numbers
        }
        return [
            graph("Sends/s by number and lane", sends, limits=rates),
            graph(
                "Rate used while work waits, %",
                *used,
                limits={"ring under": RATE_USED_PERCENT_MIN},
            ),
            graph("Seconds in the pace, a minute", each_number(place, metrics.PACED_TIME)),
        ]

    def _answers(self) -> Widgets:
        place, watched = self._watched.place, self._watched
        outcomes = (
            metrics.CONCLUDED,
            metrics.FAILED,
            metrics.RETRIED,
            metrics.THROTTLED,
            metrics.UNANSWERED,
            metrics.ENDED_EARLY,
        )
        throttled = formulas.throttled_percent(
            throttled=of_ours(place, metrics.THROTTLED, "Sum", service="send"),
            sends=[of_ours(place, metrics.SENDS, "Sum", service="send")],
        )
        attempts = formulas.attempts_per_message(watched)
        return [
            graph("What Meta answers", *(ours(place, one, "send") for one in outcomes)),
            self._latency(),
            graph(
                "Attempts per message, and too fast in %",
                attempts.renamed("of_messages").metric(minutes=5, label="attempts per message"),
                throttled.renamed("of_requests").metric(minutes=5, label="429 %"),
                limits={
                    "attempts": ATTEMPTS_PER_MESSAGE_MAX,
                    "too fast": THROTTLED_PERCENT_MAX,
                },
            ),
        ]

    def _rows(self) -> Widgets:
        place = self._watched.place
        gauges = (metrics.ROWS_PENDING, metrics.ROWS_QUEUED)
        doubts = (metrics.ROWS_SENDING, metrics.ROWS_UNKNOWN)
        return [
            graph("Rows that wait", *(ours(place, one, "reconcile", "Maximum") for one in gauges)),
            graph(
                "Rows in sending, unknown, stuck",
                *(ours(place, one, "reconcile", "Maximum") for one in doubts),
                ours(place, metrics.ROWS_STUCK, "reconcile"),
            ),
            graph(
                "Time of a claim, ms",
                *(
                    ours(place, metrics.CLAIM_TIME, "send", percentile)
                    for percentile in PERCENTILES
                ),
                right=[ours(place, metrics.DISPATCHED, "dispatch")],
            ),
        ]

    def _webhooks(self) -> Widgets:
        place = self._watched.place
        received = (metrics.STATUSES_RECEIVED, metrics.SIGNALS_RECEIVED, metrics.WEBHOOKS_REFUSED)
        written = (metrics.STATUSES_APPLIED, metrics.STATUSES_INVALID)
        return [
            graph(
                "Webhooks",
                *(ours(place, one, "webhook") for one in received),
                *(ours(place, one, "status") for one in written),
                right=all_of({name: of_api(place, name) for name in ("Count", "4xx", "5xx")}),
            ),
            self._lag(),
            graph(
                "From sent to delivered, s",
                *(
                    ours(place, metrics.SENT_TO_DELIVERED, "status", percentile)
                    for percentile in PERCENTILES
                ),
            ),
        ]

    def _upkeep(self) -> Widgets:
        place = self._watched.place
        waiting = (
            metrics.NUMBERS_PAUSED,
            metrics.CAMPAIGNS_PAUSED,
            metrics.AWAITING_APPROVAL,
        )
        return [
            graph(
                "Waits for somebody",
                *(ours(place, one, "reconcile", "Maximum") for one in waiting),
                ours(place, metrics.PORTFOLIOS_AT_LIMIT, "dispatch", "Maximum"),
            ),
            graph(
                "A person is needed; parked, by service",
                *(
                    ours(place, metrics.NEEDS_PERSON, service, label=f"needed by {service}")
                    for service in sorted(metrics.NEEDS_PERSON.services)
                ),
                right=[
                    ours(place, metrics.PARKED, service, label=f"parked by {service}")
                    for service in sorted(metrics.PARKED.services)
                ],
            ),
            graph(
                "Redrive and schedules",
                ours(place, metrics.REDRIVEN, "redrive"),
                ours(place, metrics.REDRIVE_FAILURES, "redrive"),
                ours(place, metrics.STARTS_SKIPPED, "schedule"),
            ),
        ]

    def _latency(self) -> cloudwatch.IWidget:
        place = self._watched.place
        return graph(
            "Latency of the Cloud API by number, ms",
            *(each_number(place, metrics.API_LATENCY, percentile) for percentile in PERCENTILES),
        )

    def _lag(self) -> cloudwatch.IWidget:
        place = self._watched.place
        return graph(
            "From Meta's time of a status to its row, s",
            *(ours(place, metrics.WEBHOOK_LAG, "status", one) for one in PERCENTILES),
            limits={"ring over": WEBHOOK_LAG_SECONDS_MAX},
        )

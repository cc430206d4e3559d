"""Questions to the log, saved for CloudWatch Logs Insights, and asked by dashboards.

A test runs the functions and finds every field that a query reads among what they log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.observability.rows import Watched

LOG_GROUPS_MAX: Final = 50
"""Of one query. Source: AWS, CloudWatch Logs user guide, quotas."""
ANY: Final = "any"
CAMPAIGN: Final = "4711000"
"""Where the id of the campaign is to be put; the campaign's dashboard does so by a variable."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A query, and the steps whose log it reads."""

    name: str
    steps: Sequence[str]
    """``(ANY,)``: of every step but the senders, which have logs of their own."""
    query: str


REFUSED: Final = Question(
    name="Which codes did Meta refuse with?",
    steps=("send",),
    query="""filter message = "refused"
| stats sum(times) as refused by code, campaign_id, phone_number_id
| sort refused desc""",
)
SENDING: Final = (
    REFUSED,
    Question(
        name="What came of what each number sent?",
        steps=("send",),
        query="""filter message = "sent"
| stats sum(Sends) as sends, sum(Accepted) as accepted, sum(Throttled) as throttled,
        sum(Retry) as retried, sum(Unknown) as unanswered, sum(Failed) as failed
  by phone_number_id, lane""",
    ),
    Question(
        name="Why does a sender not use its rate?",
        steps=("send",),
        query="""filter message = "sent"
| stats sum(Sends) / sum(SlotTime) as sends_per_second_of_a_slot,
        sum(PacedTime) / sum(SlotTime) as share_in_the_pace,
        max(ApiLatency.p95) as api_milliseconds, max(ClaimTime.p95) as claim_milliseconds
  by phone_number_id, lane, bin(5m)""",
    ),
    Question(
        name="Why did senders end early?",
        steps=("send",),
        query="""filter message = "ended early"
| stats count(*) as times, sum(unfinished) as chunks by exception_name, phone_number_id, lane""",
    ),
    Question(
        name="Which codes does the error table not have?",
        steps=("send",),
        query="""filter message = "codes that the error table does not have"
| fields @timestamp, phone_number_id, codes.0, request_id""",
    ),
    Question(
        name="What did senders do for one campaign?",
        steps=("send",),
        query=f"""filter campaign_id = {CAMPAIGN} or campaign_ids.0 = {CAMPAIGN}
    or campaign_ids.1 = {CAMPAIGN} or campaign_ids.2 = {CAMPAIGN}
| fields @timestamp, message, phone_number_id, lane, request_id, @message
| sort @timestamp desc""",
    ),
)
STANDING: Final = Question(
    name="Where do campaigns stand?",
    steps=("reconcile",),
    query="""filter message = "campaign"
| stats latest(campaign_id) as id, latest(state) as stands, latest(rows_pending) as pending,
        latest(rows_unknown) as unknown, latest(rows_done) as done, latest(rows_failed) as failed,
        latest(status_delivered) as delivered
  by campaign""",
)
ROWS: Final = Question(
    name="How did the rows of one campaign move?",
    steps=("reconcile",),
    query=f"""filter message = "campaign" and campaign_id = {CAMPAIGN}
| stats max(rows_pending) as pending, max(rows_queued) as queued, max(rows_sending) as sending,
        max(rows_unknown) as unknown, max(rows_done) as done, max(rows_failed) as failed
  by bin(1m)""",
)
TOLD: Final = Question(
    name="What did Meta tell of one campaign?",
    steps=("reconcile",),
    query=f"""filter message = "campaign" and campaign_id = {CAMPAIGN}
| stats max(status_held) as held, max(status_accepted) as accepted_only, max(status_sent) as sent,
        max(status_delivered) as delivered, max(status_read) as read,
        max(status_given_up) as given_up
  by bin(1m)""",
)
ENDED: Final = Question(
    name="How many rows of one campaign ended otherwise?",
    steps=("reconcile",),
    query=f"""filter message = "campaign" and campaign_id = {CAMPAIGN}
| stats max(rows_cancelled) as cancelled, max(rows_expired) as expired by bin(1m)""",
)
SHARED: Final = (
    STANDING,
    ROWS,
    TOLD,
    ENDED,
    Question(
        name="What fails, and where?",
        steps=(ANY,),
        query="""filter level = "ERROR"
| stats count(*) as times, latest(@timestamp) as last by service, message, exception_name
| sort times desc""",
    ),
    Question(
        name="What needs a person?",
        steps=("reconcile", "signal", "status"),
        query="""filter NeedsPerson > 0
| fields @timestamp, service, message, NeedsPerson, campaign_ids.0, stages_held.0,
         request_id
| sort @timestamp desc""",
    ),
    Question(
        name="What was parked, and why?",
        steps=(ANY,),
        query="""filter message = "parked"
| stats count(*) as messages, latest(@timestamp) as last by service, reasons.0
| sort messages desc""",
    ),
    Question(
        name="What is done again and again?",
        steps=(ANY,),
        query="""filter message = "comes again"
| stats count(*) as times, count_distinct(message_id) as messages by service, reason
| sort times desc""",
    ),
    Question(
        name="Which calls of the webhook were refused?",
        steps=("webhook",),
        query="""filter message = "webhook" and status_code != 200
| stats count(*) as calls by status_code, method, bin(5m)""",
    ),
    Question(
        name="How late are statuses, and whose?",
        steps=("status",),
        query="""filter message = "statuses applied"
| stats pct(WebhookLag, 50) as p50_seconds, pct(WebhookLag, 99) as p99_seconds,
        sum(StatusesApplied) as statuses, sum(DeliveriesNotReached) as of_nobody_here,
        sum(OrphanStatuses) as waiting, sum(StatusesInvalid) as not_understood
  by bin(5m)""",
    ),
    Question(
        name="Which starts of schedules were skipped?",
        steps=("schedule",),
        query="""filter StartsSkipped > 0
| fields @timestamp, facts.schedule, facts.skipped, message_id""",
    ),
    Question(
        name="What did the dispatcher do?",
        steps=("dispatch",),
        query="""filter message = "dispatched"
| stats sum(rounds) as rounds, sum(Dispatched) as deliveries, sum(Chunks) as chunks,
        sum(Requeued) as requeued, latest(at_limit.0) as portfolio_at_its_limit
  by bin(5m)""",
    ),
    Question(
        name="What did redrive do, by queue?",
        steps=("redrive",),
        query="""filter message in ["redriven", "a route was not redriven"]
| stats sum(Redriven) as redriven, sum(Parked) as parked, sum(RedriveFailures) as failures
  by route, exception_name""",
    ),
    Question(
        name="What did reconcile mend?",
        steps=("reconcile",),
        query="""filter message = "reconciled"
| stats sum(RowsStuck) as senders_died, sum(Resent) as sent_again, sum(Left) as left_unknown
  by bin(5m)""",
    ),
    Question(
        name="What was deleted because it is old?",
        steps=("erase",),
        query="""filter message = "cleared"
| stats sum(CampaignsErased) as campaigns, sum(PeopleErased) as people, sum(RowsErased) as rows
  by bin(1h)""",
    ),
    Question(
        name="What happened in one invocation, or to one message?",
        steps=(ANY,),
        query="""filter request_id = "…" or message_id = "…"
| fields @timestamp, service, message, request_id, message_id, @message
| sort @timestamp asc""",
    ),
)


class Questions(Construct):
    """The saved queries of one stack, in a folder of the stage."""

    def __init__(
        self, scope: Construct, construct_id: str, *, watched: Watched, folder: Sequence[str] = ()
    ) -> None:
        super().__init__(scope, construct_id)
        for place, question in enumerate(SHARED if watched.shared else SENDING):
            logs.CfnQueryDefinition(
                self,
                f"Question{place}",
                name="/".join(("sluice", watched.stage.stage, *folder, question.name)),
                query_string=question.query,
                log_group_names=list(log_groups(watched, question)),
            )


def log_groups(watched: Watched, question: Question) -> Sequence[str]:
    """What a question reads, in one stack."""
    if not watched.shared or ANY in question.steps:
        return watched.inventory.log_groups[:LOG_GROUPS_MAX]
    return [watched.names.path(step) for step in question.steps]

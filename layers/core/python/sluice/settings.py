"""The variables that each function is told: written by ``infra``, read by ``wiring``."""

from typing import Final

DATABASE_URL: Final = "DATABASE_URL"
"""``postgresql://user@host:port/database``, without a password where DATABASE_IAM is true."""
DATABASE_IAM: Final = "DATABASE_IAM"
"""``true``: sign in with an IAM token over TLS (Aurora); ``false``: as the URL says."""
DATABASE_LOG: Final = {
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
"""What keeps rows out of the log of Postgres, which it would tell with an error (DETAIL, CONTEXT):
parameters of the cluster, and of Postgres on this machine. A value that is of no number's or
date's shape it tells all the same, so what people write is never cast to one in a statement."""
TOPIC_ARN: Final = "TOPIC_ARN"
"""The topic campaign-requests: chunks of dispatch, tests and returned messages of command,
campaigns of schedule."""
INBOUND_TOPIC_ARN: Final = "INBOUND_TOPIC_ARN"
"""The topic inbound-messages, where subscribers hear what people say back."""
WORDS: Final = "WORDS"
"""JSON, what the stage changes about the words that stop and start: ``domain.words``."""
CAMPAIGN_QUEUE_URL: Final = "CAMPAIGN_QUEUE_URL"
"""The queue of campaign requests; a load that needs more time goes back to it."""
COMMAND_QUEUE_URL: Final = "COMMAND_QUEUE_URL"
"""The queue of commands; one that came too early is shown again later."""
EXPORT_QUEUE_URL: Final = "EXPORT_QUEUE_URL"
"""The queue of exports; one that needs more time goes back to it."""
SCHEDULE_QUEUE_URL: Final = "SCHEDULE_QUEUE_URL"
"""The queue of schedules, which EventBridge Scheduler sends to when it is time."""
SCHEDULE_QUEUE_ARN: Final = "SCHEDULE_QUEUE_ARN"
"""The same queue, as a target."""
SCHEDULE_UNDELIVERED_ARN: Final = "SCHEDULE_UNDELIVERED_ARN"
"""Where EventBridge Scheduler leaves what it could not deliver."""
SCHEDULE_ROLE_ARN: Final = "SCHEDULE_ROLE_ARN"
"""The role with which it sends."""
SCHEDULE_GROUP: Final = "SCHEDULE_GROUP"
"""The group of our schedules."""
EXPORTS_BUCKET: Final = "EXPORTS_BUCKET"
"""The bucket that exports go to where they name no other."""
APPROVALS_QUEUE_URL: Final = "APPROVALS_QUEUE_URL"
"""The queue that only approvers may send to; a decision that came too early is shown again."""
ERASE_QUEUE_URL: Final = "ERASE_QUEUE_URL"
"""The queue of erasures; one that needs more time goes back to it."""
RETENTION_DAYS: Final = "RETENTION_DAYS"
"""How old what is over may become before it is deleted: ``400``, or ``null``: it is kept."""
PARKED_QUEUE_URL: Final = "PARKED_QUEUE_URL"
"""Where messages that no retry can help are kept, each with its reason."""
STATUSES_QUEUE_URL: Final = "STATUSES_QUEUE_URL"
"""The FIFO queue of delivery statuses."""
SIGNALS_QUEUE_URL: Final = "SIGNALS_QUEUE_URL"
"""The queue of everything else that a webhook may bring."""
DISPATCH_FUNCTION: Final = "DISPATCH_FUNCTION"
"""The name of the dispatch function, to wake it."""
TOKEN_SECRET_ID: Final = "TOKEN_SECRET_ID"  # noqa: S105 - the name of a variable
"""Secret ``{"access_token": …}`` of the Cloud API."""
WEBHOOK_SECRET_ID: Final = "WEBHOOK_SECRET_ID"  # noqa: S105 - the name of a variable
"""Secret ``{"app_secrets": [current, previous], "verify_token": …}`` of the webhook."""
CLOUD_API_URL: Final = "CLOUD_API_URL"
"""The Cloud API with its version, e.g. ``https://graph.facebook.com/v25.0``."""
PHONE_NUMBER_ID: Final = "PHONE_NUMBER_ID"
"""The number that this sender sends from."""
LANE: Final = "LANE"
"""``conversation`` or ``bulk``."""
SLOTS: Final = "SLOTS"
"""How many executions the lane has."""
SLOT_SENDS_PER_SECOND: Final = "SLOT_SENDS_PER_SECOND"
"""The rate of one slot: cap x lane share x pace factor / slots."""
SLOT_SENDS_PER_SECOND_LENT: Final = "SLOT_SENDS_PER_SECOND_LENT"
"""The same while the share of the other lane is lent to it."""
FREQUENCY_CAP: Final = "FREQUENCY_CAP"
"""How often a person may get marketing: ``{"messages": 2, "days": 7}``, or ``null``."""
TEMPLATE_CHECK: Final = "TEMPLATE_CHECK"
"""Whether a campaign's template is held to Meta's: ``required``, ``when_known`` or ``off``."""
APPROVAL_ABOVE_RECIPIENTS: Final = "APPROVAL_ABOVE_RECIPIENTS"
"""What goes to more people waits for an approval; ``null``: nothing does."""
NUMBERS_PATH: Final = "NUMBERS_PATH"
"""SSM path under which every number has a parameter."""
ROUTES_PATH: Final = "ROUTES_PATH"
"""SSM path under which parameters describe every queue with a dead-letter queue, by route."""
JOURNAL_PREFIX: Final = "JOURNAL_PREFIX"
"""What the names of the senders' log groups begin with: their journal is in them."""

_DATABASE: Final = (DATABASE_URL, DATABASE_IAM)

FUNCTION_VARIABLES: Final[dict[str, tuple[str, ...]]] = {
    "campaign": (
        *_DATABASE,
        CAMPAIGN_QUEUE_URL,
        PARKED_QUEUE_URL,
        DISPATCH_FUNCTION,
        TOKEN_SECRET_ID,
        CLOUD_API_URL,
        TEMPLATE_CHECK,
        APPROVAL_ABOVE_RECIPIENTS,
        NUMBERS_PATH,
    ),
    "command": (
        *_DATABASE,
        COMMAND_QUEUE_URL,
        PARKED_QUEUE_URL,
        DISPATCH_FUNCTION,
        TOPIC_ARN,
        STATUSES_QUEUE_URL,
        SIGNALS_QUEUE_URL,
        APPROVAL_ABOVE_RECIPIENTS,
    ),
    "approve": (*_DATABASE, APPROVALS_QUEUE_URL, PARKED_QUEUE_URL, DISPATCH_FUNCTION),
    "export": (*_DATABASE, EXPORT_QUEUE_URL, PARKED_QUEUE_URL, EXPORTS_BUCKET),
    "schedule": (
        *_DATABASE,
        SCHEDULE_QUEUE_URL,
        PARKED_QUEUE_URL,
        TOPIC_ARN,
        SCHEDULE_QUEUE_ARN,
        SCHEDULE_UNDELIVERED_ARN,
        SCHEDULE_ROLE_ARN,
        SCHEDULE_GROUP,
    ),
    "erase": (*_DATABASE, ERASE_QUEUE_URL, PARKED_QUEUE_URL, RETENTION_DAYS),
    "dispatch": (*_DATABASE, TOPIC_ARN, NUMBERS_PATH),
    "send": (
        *_DATABASE,
        PARKED_QUEUE_URL,
        TOKEN_SECRET_ID,
        CLOUD_API_URL,
        PHONE_NUMBER_ID,
        LANE,
        SLOTS,
        SLOT_SENDS_PER_SECOND,
        SLOT_SENDS_PER_SECOND_LENT,
        FREQUENCY_CAP,
    ),
    "redrive": (PARKED_QUEUE_URL, ROUTES_PATH),
    "webhook": (STATUSES_QUEUE_URL, SIGNALS_QUEUE_URL, WEBHOOK_SECRET_ID),
    "status": (*_DATABASE, PARKED_QUEUE_URL),
    "signal": (*_DATABASE, PARKED_QUEUE_URL, INBOUND_TOPIC_ARN, WORDS),
    "reconcile": (*_DATABASE, DISPATCH_FUNCTION, FREQUENCY_CAP),
    "report": (*_DATABASE, PARKED_QUEUE_URL),
    "restore": (*_DATABASE, JOURNAL_PREFIX),
    "migrate": _DATABASE,
}
"""Which function is told which variables. A missing one fails at start, by name."""

"""The ports of AWS and of the Cloud API."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sluice import settings
from sluice.wiring.environment import phone_number_id, setting, slot_sends_per_second
from sluice.wiring.machine import client, telemetry
from sluice.wiring.postgres import audit

if TYPE_CHECKING:
    from sluice.adapters.audience import Audiences
    from sluice.adapters.cloud_api import CloudApi
    from sluice.adapters.events import Inbox
    from sluice.adapters.graph_api import GraphApi
    from sluice.adapters.media import MediaFiles
    from sluice.adapters.parameters import Configuration, Secrets
    from sluice.adapters.parked import ParkedMessages, Returns
    from sluice.adapters.parquet import Parquet
    from sluice.adapters.queues import (
        Parking,
        Queue,
        Route,
        Subscribers,
        Topic,
        WebhookOutbox,
    )
    from sluice.adapters.scheduler import Scheduler
    from sluice.adapters.storage import Storage
    from sluice.adapters.uploads import Uploads
    from sluice.adapters.wake import Waker
    from sluice.domain.cost import Prices
    from sluice.domain.words import Vocabulary


@cache
def cloud_api() -> "CloudApi":
    """Return the Cloud API of this sender's number."""
    from sluice.adapters.cloud_api import CloudApi, threads_of

    known, secret_id = secrets(), setting(settings.TOKEN_SECRET_ID)
    return CloudApi(
        url=setting(settings.CLOUD_API_URL),
        phone_number_id=phone_number_id(),
        token=lambda *, fresh: known.access_token(secret_id, fresh=fresh),
        threads=threads_of(slot_sends_per_second()),
    )


@cache
def graph_api() -> "GraphApi":
    """Return Meta's templates and uploads."""
    from sluice.adapters.graph_api import GraphApi

    known, secret_id = secrets(), setting(settings.TOKEN_SECRET_ID)
    return GraphApi(
        url=setting(settings.CLOUD_API_URL),
        token=lambda *, fresh: known.access_token(secret_id, fresh=fresh),
    )


@cache
def secrets() -> "Secrets":
    """Return the secrets, cached for minutes."""
    from sluice.adapters.parameters import Secrets

    return Secrets(client("secretsmanager"))


def webhook_secrets() -> Callable[[bool], tuple[Sequence[str], str]]:
    """Return what gives the app secrets and the verify token."""
    known, secret_id = secrets(), setting(settings.WEBHOOK_SECRET_ID)
    return lambda fresh: known.webhook(secret_id, fresh=fresh)


@cache
def configuration() -> "Configuration":
    """Return the configuration in SSM."""
    from sluice.adapters.parameters import Configuration

    return Configuration(client("ssm"))


def numbers() -> list[dict[str, Any]]:
    """Return every number as configured."""
    return list(configuration().under(setting(settings.NUMBERS_PATH)).values())


def accounts() -> dict[str, str]:
    """Return the account of every number, by phone_number_id."""
    return {str(one["phone_number_id"]): str(one["account_id"]) for one in numbers()}


@cache
def audiences() -> "Audiences":
    """Return the audience files."""
    from sluice.adapters.audience import Audiences

    return Audiences(client("s3"))


@cache
def uploads() -> "Uploads":
    """Return where files are written."""
    from sluice.adapters.uploads import Uploads

    return Uploads(client("s3"))


@cache
def storage() -> "Storage":
    """Return the files in S3."""
    from sluice.adapters.storage import Storage

    return Storage(client("s3"))


@cache
def parquet() -> "Parquet":
    """Return the maker of Parquet files."""
    from sluice.adapters.parquet import Parquet

    return Parquet()


@cache
def media_files() -> "MediaFiles":
    """Return the files of template headers."""
    from sluice.adapters.media import MediaFiles

    return MediaFiles(client("s3"))


@cache
def topic() -> "Topic":
    """Return the topic campaign-requests."""
    from sluice.adapters.queues import Topic

    return Topic(client("sns"), arn=setting(settings.TOPIC_ARN))


@cache
def subscribers() -> "Subscribers":
    """Return who hears what people say back."""
    from sluice.adapters.queues import Subscribers, Topic

    return Subscribers(Topic(client("sns"), arn=setting(settings.INBOUND_TOPIC_ARN)))


@cache
def vocabulary() -> "Vocabulary":
    """Return the words that stop and start."""
    from sluice.domain.words import vocabulary_from

    return vocabulary_from(setting(settings.WORDS))


@cache
def campaign_queue() -> "Queue":
    """Return the queue of campaign requests."""
    return _queue(setting(settings.CAMPAIGN_QUEUE_URL))


@cache
def command_queue() -> "Queue":
    """Return the queue of commands."""
    return _queue(setting(settings.COMMAND_QUEUE_URL))


@cache
def approvals_queue() -> "Queue":
    """Return the queue of approvals."""
    return _queue(setting(settings.APPROVALS_QUEUE_URL))


@cache
def export_queue() -> "Queue":
    """Return the queue of exports."""
    return _queue(setting(settings.EXPORT_QUEUE_URL))


@cache
def schedule_queue() -> "Queue":
    """Return the queue of schedules."""
    return _queue(setting(settings.SCHEDULE_QUEUE_URL))


@cache
def scheduler() -> "Scheduler":
    """Return EventBridge Scheduler."""
    from sluice.adapters.scheduler import Scheduler

    return Scheduler(
        client("scheduler"),
        group=setting(settings.SCHEDULE_GROUP),
        queue_arn=setting(settings.SCHEDULE_QUEUE_ARN),
        undelivered_arn=setting(settings.SCHEDULE_UNDELIVERED_ARN),
        role_arn=setting(settings.SCHEDULE_ROLE_ARN),
    )


@cache
def erase_queue() -> "Queue":
    """Return the queue of erasures."""
    return _queue(setting(settings.ERASE_QUEUE_URL))


def inbox(step: str, queue: "Queue", waker: "Waker | None" = None) -> "Inbox":
    """Return the messages of a step's queue, each settled by what it came to."""
    from sluice.adapters.events import Inbox

    return Inbox(step, queue, parking(), waker, telemetry(), audit())


@cache
def parking() -> "Parking":
    """Return where messages are kept that no retry can help."""
    from sluice.adapters.queues import Parking

    return Parking(_queue(setting(settings.PARKED_QUEUE_URL)))


@cache
def parked_messages() -> "ParkedMessages":
    """Return what lies in the parked queue."""
    from sluice.adapters.parked import ParkedMessages

    return ParkedMessages(client("sqs"), url=setting(settings.PARKED_QUEUE_URL))


@cache
def returns() -> "Returns":
    """Return where parked messages go back to."""
    from sluice.adapters.parked import Returns

    return Returns(
        topic=topic(),
        statuses=_queue(setting(settings.STATUSES_QUEUE_URL)),
        signals=_queue(setting(settings.SIGNALS_QUEUE_URL)),
    )


@cache
def prices() -> "Prices":
    """Return the list of prices."""
    from sluice.adapters.prices import read_prices

    return read_prices()


@cache
def webhook_outbox() -> "WebhookOutbox":
    """Return the two queues behind the webhook."""
    from sluice.adapters.queues import WebhookOutbox

    return WebhookOutbox(
        statuses=_queue(setting(settings.STATUSES_QUEUE_URL)),
        signals=_queue(setting(settings.SIGNALS_QUEUE_URL)),
    )


@cache
def waker() -> "Waker":
    """Return what wakes the dispatcher."""
    from sluice.adapters.wake import Waker

    return Waker(client("lambda"), function=setting(settings.DISPATCH_FUNCTION))


def routes() -> "list[Route]":
    """Return every queue that has a dead-letter queue."""
    from sluice.adapters.queues import Route

    return [
        Route(
            name=name,
            queue=_queue(route["queue_url"]),
            dead_letters=_queue(route["dead_letter_queue_url"]),
            messages_per_second=float(route["messages_per_second"]),
            fifo=bool(route["fifo"]),
            parking=parking(),
        )
        for described in configuration().under(setting(settings.ROUTES_PATH)).values()
        for name, route in described.items()
    ]


def _queue(url: str) -> "Queue":
    from sluice.adapters.queues import Queue

    return Queue(client("sqs"), url=url)

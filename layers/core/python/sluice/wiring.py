"""The only reader of the environment: builds each function's ports, once, when they are asked for.

Every import stands in the function that needs it, so that a function loads only what it uses.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sluice import settings

if TYPE_CHECKING:
    from sluice.adapters.audience import Audiences
    from sluice.adapters.clock import SystemClock
    from sluice.adapters.cloud_api import CloudApi
    from sluice.adapters.parameters import Configuration, Secrets
    from sluice.adapters.postgres.campaigns import Campaigns
    from sluice.adapters.postgres.claims import Claims
    from sluice.adapters.postgres.connection import Database
    from sluice.adapters.postgres.loads import Loads
    from sluice.adapters.postgres.picks import Picks
    from sluice.adapters.postgres.reconciliations import Reconciliations
    from sluice.adapters.postgres.reports import Reports
    from sluice.adapters.postgres.signals import Signals
    from sluice.adapters.postgres.statuses import Statuses
    from sluice.adapters.postgres.stops import Stops
    from sluice.adapters.postgres.suppressions import Suppressions
    from sluice.adapters.queues import Parking, Queue, Route, Topic, WebhookOutbox
    from sluice.adapters.telemetry import Telemetry
    from sluice.adapters.wake import Waker


class SettingMissingError(RuntimeError):
    """A function is not told a variable that it needs."""


def require(step: str) -> None:
    """Raise SettingMissingError, naming every variable that the step needs and is not told."""
    missing = [name for name in settings.FUNCTION_VARIABLES[step] if not os.environ.get(name)]
    if missing:
        raise SettingMissingError(f"{step} is not told {', '.join(missing)}")


def setting(name: str) -> str:
    """Return a variable. Raises SettingMissingError with its name."""
    value = os.environ.get(name)
    if not value:
        raise SettingMissingError(f"{name} is not set")
    return value


def phone_number_id() -> str:
    """Return the number of this sender."""
    return setting(settings.PHONE_NUMBER_ID)


def slot_sends_per_second() -> float:
    """Return the rate of this slot."""
    return float(setting(settings.SLOT_SENDS_PER_SECOND))


@cache
def clock() -> "SystemClock":
    """Return the machine's clock."""
    from sluice.adapters.clock import SystemClock

    return SystemClock()


def dice() -> Callable[[], float]:
    """Return the machine's dice."""
    from sluice.adapters.clock import roll

    return roll


@cache
def telemetry() -> "Telemetry":
    """Return the log and the metrics of this function; Powertools reads its own variables."""
    from aws_lambda_powertools import Logger, Metrics

    from sluice.adapters.telemetry import Telemetry

    return Telemetry(Logger(), Metrics())


@cache
def database() -> "Database":
    """Return the connection of this environment, opened at its first use."""
    from sluice.adapters.postgres.access import parameters_of
    from sluice.adapters.postgres.connection import Database

    url = setting(settings.DATABASE_URL)
    with_iam = setting(settings.DATABASE_IAM) == "true"
    return Database(parameters_of(url, with_iam=with_iam, client=_client))


@cache
def campaigns() -> "Campaigns":
    """Return the published campaigns."""
    from sluice.adapters.postgres.campaigns import Campaigns

    return Campaigns(database())


@cache
def loads() -> "Loads":
    """Return the loading of audiences."""
    from sluice.adapters.postgres.loads import Loads

    return Loads(database())


@cache
def stops() -> "Stops":
    """Return the pauses."""
    from sluice.adapters.postgres.stops import Stops

    return Stops(database())


@cache
def picks() -> "Picks":
    """Return the dispatcher's side of the deliveries."""
    from sluice.adapters.postgres.picks import Picks

    return Picks(database())


@cache
def claims() -> "Claims":
    """Return the sender's side of the deliveries."""
    from sluice.adapters.postgres.claims import Claims

    return Claims(database(), phone_number_id=phone_number_id())


@cache
def statuses() -> "Statuses":
    """Return where statuses are written."""
    from sluice.adapters.postgres.statuses import Statuses

    return Statuses(database())


@cache
def signals() -> "Signals":
    """Return where signals are kept."""
    from sluice.adapters.postgres.signals import Signals

    return Signals(database())


@cache
def suppressions() -> "Suppressions":
    """Return who gets nothing, or no marketing."""
    from sluice.adapters.postgres.suppressions import Suppressions

    return Suppressions(database())


@cache
def reconciliations() -> "Reconciliations":
    """Return the reconciler's statements."""
    from sluice.adapters.postgres.reconciliations import Reconciliations

    return Reconciliations(database())


@cache
def reports() -> "Reports":
    """Return what reports read."""
    from sluice.adapters.postgres.reports import Reports

    return Reports(database())


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
def secrets() -> "Secrets":
    """Return the secrets, cached for minutes."""
    from sluice.adapters.parameters import Secrets

    return Secrets()


def webhook_secrets() -> Callable[[bool], tuple[Sequence[str], str]]:
    """Return what gives the app secrets and the verify token."""
    known, secret_id = secrets(), setting(settings.WEBHOOK_SECRET_ID)
    return lambda fresh: known.webhook(secret_id, fresh=fresh)


@cache
def configuration() -> "Configuration":
    """Return the configuration in SSM."""
    from sluice.adapters.parameters import Configuration

    return Configuration()


def numbers() -> list[dict[str, Any]]:
    """Return every number as configured."""
    return list(configuration().under(setting(settings.NUMBERS_PATH)).values())


@cache
def audiences() -> "Audiences":
    """Return the audience files."""
    from sluice.adapters.audience import Audiences

    return Audiences(_client("s3"))


@cache
def topic() -> "Topic":
    """Return the topic campaign-requests."""
    from sluice.adapters.queues import Topic

    return Topic(_client("sns"), arn=setting(settings.TOPIC_ARN))


@cache
def campaign_queue() -> "Queue":
    """Return the queue of campaign requests."""
    return _queue(setting(settings.CAMPAIGN_QUEUE_URL))


@cache
def parking() -> "Parking":
    """Return where messages are kept that no retry can help."""
    from sluice.adapters.queues import Parking

    return Parking(_queue(setting(settings.PARKED_QUEUE_URL)))


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

    return Waker(_client("lambda"), function=setting(settings.DISPATCH_FUNCTION))


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
        for name, route in configuration().under(setting(settings.ROUTES_PATH)).items()
    ]


def _queue(url: str) -> "Queue":
    from sluice.adapters.queues import Queue

    return Queue(_client("sqs"), url=url)


@cache
def _client(service: str) -> Any:
    import boto3

    return boto3.client(service)

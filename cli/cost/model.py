"""What a stage costs: a million messages by item, and a month in which nothing is sent. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Literal

from cli.cost import assumed
from cli.cost.assumed import HOURS_A_MONTH, MEMORY_MEGABYTES, RUNS_A_MONTH
from cli.cost.prices import Prices
from cli.cost.profile import FunctionUse, Profile
from infra.stage import Stage
from infra.stage_parts import AuroraDatabase
from sluice.domain import limits
from sluice.domain.lanes import BULK, LANES
from sluice.domain.limits import CHUNK_DELIVERIES_MAX
from sluice.metrics import METRICS

MILLION: Final = 1_000_000
KILOBYTES_A_GIGABYTE: Final = 1_000_000
BYTES_A_GIGABYTE: Final = 10**9

StatusesQueue = Literal["fifo", "standard"]
WebhookEntry = Literal["http_api", "function_url"]
Evidence = Literal["measured", "counted", "assumed"]


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a stage may be deployed with, and what makes most of the difference."""

    statuses_queue: StatusesQueue = "fifo"
    webhook_entry: WebhookEntry = "http_api"

    @classmethod
    def of(cls, stage: Stage) -> "Choices":
        """Those of a stage."""
        return cls(statuses_queue=stage.statuses_queue, webhook_entry=stage.webhook_entry)


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the bill."""

    name: str
    usd: float
    quantity: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Cost:
    """What a million messages cost by item, and what a month costs without any."""

    per_million_items: Sequence[Item]
    per_month_items: Sequence[Item]

    @property
    def per_million(self) -> float:
        """USD for a million messages, beside the month."""
        return sum(item.usd for item in self.per_million_items)

    @property
    def per_month(self) -> float:
        """USD for a month in which nothing is sent."""
        return sum(item.usd for item in self.per_month_items)


def cost_of(stage: Stage, prices: Prices, profile: Profile, choices: Choices) -> Cost:
    """Both, sorted: what costs most comes first."""
    messages = [*_per_million(stage, prices, profile, choices)]
    month = [*_per_month(stage, prices, profile, choices)]
    return Cost(*(sorted(items, key=lambda item: -item.usd) for items in (messages, month)))


def _per_million(
    stage: Stage, prices: Prices, profile: Profile, choices: Choices
) -> Iterator[Item]:
    webhooks = profile.webhooks_per_message
    if choices.webhook_entry == "http_api":
        usd = webhooks * prices.http_api_million
        yield Item("HTTP API", usd, f"{webhooks:.2f} requests a message", "measured")
    yield from _statuses(prices, profile, choices)
    yield from _chunks(stage, prices, profile)
    yield _sender(stage, prices, profile)
    yield _loader(prices)
    for step, use in profile.functions.items():
        if use.basis == "message":
            yield _function(step, use, prices)
    yield _logs(stage, prices, profile)
    yield from _database(stage, prices)
    yield from _network(stage, prices, profile)


def seconds_per_message(stage: Stage) -> float:
    """Of one slot, waiting included: numbers send by their rates, those that drain too."""
    rates = [(stage.lent_rate(number, BULK), number.slots(BULK)) for number in stage.numbers]
    total = sum(rate for rate, _ in rates)
    return sum(rate / total * slots / rate for rate, slots in rates)


def _statuses(prices: Prices, profile: Profile, choices: Choices) -> Iterator[Item]:
    """A send for each webhook, and a receive and a delete for each batch."""
    webhooks, fifo = profile.webhooks_per_message, choices.statuses_queue == "fifo"
    price = prices.sqs_fifo_million if fifo else prices.sqs_standard_million
    batches = (
        profile.functions["status"].invocations_per_thousand / 1_000
        if fifo
        else webhooks / assumed.SQS_RECEIVE_MESSAGES_MAX
    )
    requests = webhooks + 2 * batches
    text = f"{requests:.2f} requests a message, {choices.statuses_queue}"
    yield Item("SQS, statuses", requests * price, text, "measured" if fifo else "assumed")


def _chunks(stage: Stage, prices: Prices, profile: Profile) -> Iterator[Item]:
    chunks = profile.requests_per_message / CHUNK_DELIVERIES_MAX
    text = f"a chunk of {CHUNK_DELIVERIES_MAX} messages"
    yield Item("SNS, chunks", chunks * prices.sns_publish_million, text, "counted")
    requests = chunks + 2 * _batches(stage, profile)
    yield Item("SQS, chunks", requests * prices.sqs_standard_million, text, "counted")


def _batches(stage: Stage, profile: Profile) -> float:
    """Invocations of senders for a message: each takes as many as its pace lets it in its time."""
    return profile.requests_per_message * seconds_per_message(stage) / limits.SEND_BATCH_SECONDS


def _sender(stage: Stage, prices: Prices, profile: Profile) -> Item:
    """Its time is its pace, so no slow machine makes it dearer."""
    seconds = profile.requests_per_message * seconds_per_message(stage) / assumed.PACE_SHARE
    return _executed("send", _batches(stage, profile), seconds, prices, "counted")


def _loader(prices: Prices) -> Item:
    return _executed("campaign", 0.0, assumed.LOAD_SECONDS_PER_MILLION / MILLION, prices, "assumed")


def _function(step: str, use: FunctionUse, prices: Prices) -> Item:
    invocations = use.invocations_per_thousand / 1_000
    seconds = invocations * use.billed_milliseconds / 1_000
    return _executed(step, invocations, seconds, prices, "measured")


def _executed(
    step: str, invocations: float, seconds: float, prices: Prices, evidence: Evidence
) -> Item:
    """Invocations and seconds for each message."""
    usd = invocations * prices.lambda_request_million
    usd += MILLION * _gigabyte_seconds(step, seconds) * prices.lambda_gigabyte_second
    text = f"{invocations:.3f} invocations a message, {1_000 * seconds:.1f} ms billed"
    return Item(f"Lambda, {step}", usd, text, evidence)


def _gigabyte_seconds(step: str, seconds: float) -> float:
    return seconds * MEMORY_MEGABYTES[step] / 1_024


def _logs(stage: Stage, prices: Prices, profile: Profile) -> Item:
    size = _batches(stage, profile) * profile.functions["send"].log_bytes
    size += sum(
        use.invocations_per_thousand / 1_000 * use.log_bytes
        for use in profile.functions.values()
        if use.basis == "message"
    )
    usd = MILLION * size / BYTES_A_GIGABYTE * prices.logs_gigabyte
    return Item("CloudWatch logs", usd, f"{size:.0f} bytes a message", "measured")


def _database(stage: Stage, prices: Prices) -> Iterator[Item]:
    if not isinstance(stage.database, AuroraDatabase):
        return
    hours, io = assumed.CAPACITY_HOURS_PER_MILLION, assumed.INPUTS_OUTPUTS_PER_MESSAGE
    usd = hours * prices.aurora_capacity_hour
    yield Item("Aurora, capacity", usd, f"{hours} unit-hours over the minimum", "assumed")
    yield Item("Aurora, I/O", io * prices.aurora_io_million, f"{io} a message", "assumed")


def _network(stage: Stage, prices: Prices, profile: Profile) -> Iterator[Item]:
    up = profile.requests_per_message * assumed.META_KILOBYTES_UP
    both = up + profile.requests_per_message * assumed.META_KILOBYTES_DOWN
    gigabytes = MILLION * up / KILOBYTES_A_GIGABYTE
    yield Item(
        "egress to Meta", gigabytes * prices.egress_gigabyte, f"{up:.1f} KB a message", "assumed"
    )
    if nat_gateways(stage):
        gigabytes = MILLION * both / KILOBYTES_A_GIGABYTE
        yield Item("NAT", gigabytes * prices.nat_gigabyte, f"{both:.1f} KB a message", "assumed")


def nat_gateways(stage: Stage) -> int:
    """How many a stage has; none where functions get out by IPv6, or stand in no VPC of ours."""
    if not isinstance(stage.database, AuroraDatabase):
        return 0
    return 0 if stage.egress == "ipv6" else stage.database.nat_gateways


def _per_month(stage: Stage, prices: Prices, profile: Profile, choices: Choices) -> Iterator[Item]:
    database = stage.database
    if isinstance(database, AuroraDatabase):
        units = database.capacity_min * (1 + database.readers)
        usd = units * HOURS_A_MONTH * prices.aurora_capacity_hour
        yield Item("Aurora, minimum capacity", usd, f"{units} units", "counted")
        size = assumed.STORAGE_GIGABYTES
        yield Item("Aurora, storage", size * prices.aurora_gigabyte_month, f"{size} GB", "assumed")
    if gateways := nat_gateways(stage):
        usd = gateways * HOURS_A_MONTH * (prices.nat_hour + prices.public_address_hour)
        yield Item("NAT gateways", usd, f"{gateways}, each with an address", "counted")
    for step, runs in RUNS_A_MONTH.items():
        yield _scheduled(step, runs, profile.functions[step], prices)
    yield from _polling(stage, prices, choices)
    yield from _kept(stage, prices)


def _scheduled(step: str, runs: int, use: FunctionUse, prices: Prices) -> Item:
    seconds = runs * use.billed_milliseconds / 1_000
    usd = runs / MILLION * prices.lambda_request_million
    usd += _gigabyte_seconds(step, seconds) * prices.lambda_gigabyte_second
    usd += runs * use.log_bytes / BYTES_A_GIGABYTE * prices.logs_gigabyte
    text = f"{runs} runs of {use.billed_milliseconds:.0f} ms, with their logs"
    return Item(f"Lambda, {step}", usd, text, "measured")


def _polling(stage: Stage, prices: Prices, choices: Choices) -> Iterator[Item]:
    fifo = assumed.FIFO_QUEUES_WITH_EVENT_SOURCE if choices.statuses_queue == "fifo" else 0
    queues = _count(stage, assumed.QUEUES_WITH_EVENT_SOURCE)
    receives = assumed.POLLS_A_MINUTE * assumed.MINUTES_A_MONTH / MILLION
    usd = receives * (
        fifo * prices.sqs_fifo_million + (queues - fifo) * prices.sqs_standard_million
    )
    yield Item("SQS, empty receives of event sources", usd, f"{queues} queues", "assumed")
    routes = _count(stage, assumed.ROUTES)
    usd = routes * RUNS_A_MONTH["redrive"] / MILLION * prices.sqs_standard_million
    yield Item("SQS, receives of redrive", usd, f"{routes} dead-letter queues", "counted")


def _kept(stage: Stage, prices: Prices) -> Iterator[Item]:
    counted: Mapping[str, tuple[tuple[int, int], float]] = {
        "metrics of alarms": (assumed.ALARM_METRICS, prices.alarm_metric_month),
        "composite alarms": (assumed.COMPOSITE_ALARMS, prices.composite_alarm_month),
        "secrets": (assumed.SECRETS, prices.secret_month),
        "keys of KMS": (assumed.KEYS, prices.key_month),
    }
    for name, (counts, price) in counted.items():
        count = _count(stage, counts)
        yield Item(name, count * price, str(count), "counted")
    shown = max(0, _count(stage, assumed.DASHBOARDS) - assumed.DASHBOARDS_FREE)
    yield Item(
        "dashboards", shown * prices.dashboard_month, f"{shown} that are not free", "counted"
    )
    metrics = metrics_of(stage)
    text = f"{metrics}, in a month in which all are emitted"
    yield Item("custom metrics", metrics * prices.metric_month, text, "counted")
    calls = assumed.ENVIRONMENTS * HOURS_A_MONTH * 3_600 / assumed.SECRET_SECONDS
    usd = calls / MILLION * prices.secret_call_million
    yield Item("reads of secrets", usd, f"{calls:.0f} at most", "assumed")


def metrics_of(stage: Stage) -> int:
    """Metrics of ours, by every value of their dimensions."""
    each = {"phone_number_id": len(stage.numbers), "lane": len(LANES)}
    return sum(
        len(metric.services) * prod(each[dimension] for dimension in dimensions)
        for metric in METRICS.values()
        for dimensions in metric.by
    )


def _count(stage: Stage, counts: tuple[int, int]) -> int:
    shared, each = counts
    return shared + each * len(stage.numbers)

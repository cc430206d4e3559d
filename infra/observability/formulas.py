"""What is not a metric but made of some, for alarms and dashboards alike.

``FILL`` where a metric is missing because nothing happened; the alarms on it look at several
periods, because the latest one may be missing because it is late.
"""

from typing import Final

from infra.observability.rows import Watched
from infra.observability.series import Series, Source, of_ours, of_queue, visible
from infra.stage_parts import AuroraDatabase, Number
from sluice import metrics
from sluice.domain.lanes import BULK, LANES
from sluice.metrics import Metric

STALLED_SECONDS: Final = 900
STALLED_SECONDS_LONG: Final = 14_400
LONG_WORK: Final = ("campaign", "command", "erase", "export")
"""Whose messages come again and again for hours before they are finished."""
ACU_MEMORY_BYTES: Final = 2 * 1024**3
CONNECTION_BYTES: Final = 9_531_392
CONNECTIONS_MAX: Final = 5_000
CONNECTIONS_MAX_SMALL: Final = 2_000
"""Where the least capacity is half a unit or none.
Source: AWS, Aurora user guide, Aurora Serverless v2, maximum connections."""
CAPACITY_SMALL: Final = 0.5


def stalled(watched: Watched, queue: str) -> Series:
    """1 while the oldest message of a queue is old and none was deleted."""
    long = queue in map(watched.names.of, LONG_WORK)
    seconds = STALLED_SECONDS_LONG if long else STALLED_SECONDS
    return Series(
        sources={
            "age": of_queue(queue, "ApproximateAgeOfOldestMessage", "Minimum"),
            "deleted": of_queue(queue, "NumberOfMessagesDeleted", "Sum"),
        },
        expression=f"IF(age > {seconds} AND FILL(deleted, 0) == 0, 1, 0)",
    )


def _send(watched: Watched, metric: Metric, **dimensions: str) -> Source:
    return of_ours(watched.place, metric, "Sum", service="send", **dimensions)


def throttled_percent_of_number(watched: Watched, phone_number_id: str) -> Series:
    """Answers that say too fast, of all requests of a number."""
    return throttled_percent(
        throttled=_send(watched, metrics.THROTTLED, phone_number_id=phone_number_id),
        sends=[
            _send(watched, metrics.SENDS, phone_number_id=phone_number_id, lane=lane)
            for lane in LANES
        ],
    )


def throttled_percent(*, throttled: Source, sends: list[Source]) -> Series:
    """The share of answers that say too fast."""
    named = {f"sends{place}": source for place, source in enumerate(sends)}
    total = " + ".join(f"FILL({name}, 0)" for name in named)
    return Series(
        sources={"throttled": throttled, **named},
        expression=f"100 * throttled / ({total})",
    )


def attempts_per_message(watched: Watched, _subject: str = "") -> Series:
    """Requests for each that was the last word of its message."""
    return Series(
        sources={
            "sends": _send(watched, metrics.SENDS),
            "concluded": _send(watched, metrics.CONCLUDED),
        },
        # Nothing but failures for a while: as many attempts as there were requests.
        expression="sends / IF(FILL(concluded, 0) > 0, concluded, 1)",
    )


def rate_used_percent(watched: Watched, phone_number_id: str) -> Series:
    """Of a number's rate over both lanes, while bulk has more in its queue than its slots hold.

    100 where nothing waits: then nothing is unused.
    """
    number = _number(watched, phone_number_id)
    sends = {
        str(lane): _send(watched, metrics.SENDS, phone_number_id=phone_number_id, lane=lane)
        for lane in LANES
    }
    queue = watched.names.of(watched.names.send(phone_number_id, BULK))
    sent = " + ".join(f"FILL({lane}, 0)" for lane in sends)
    rate = watched.stage.send_rate(number)
    sources: dict[str, Source] = {"waiting": visible(queue, "Minimum"), **sends}
    return Series(
        sources=sources,
        expression=f"IF(waiting > 0, 100 * ({sent}) / ({rate} * PERIOD(waiting)), 100)",
    )


def unknown_growth(watched: Watched, _subject: str = "") -> Series:
    """How many more rows are unknown than a period before."""
    return Series(
        sources={
            "unknown": of_ours(watched.place, metrics.ROWS_UNKNOWN, "Maximum", service="reconcile")
        },
        expression="DIFF(unknown)",
    )


def webhook_silence(watched: Watched, _subject: str = "") -> Series:
    """1 while messages leave and Meta brings no status of any."""
    received = of_ours(watched.place, metrics.STATUSES_RECEIVED, "Sum", service="webhook")
    return Series(
        sources={"sends": _send(watched, metrics.SENDS), "received": received},
        expression="IF(sends > 0 AND FILL(received, 0) == 0, 1, 0)",
    )


def capacity(watched: Watched) -> float:
    """The most that the database may have, in Aurora capacity units."""
    database = watched.stage.database
    assert isinstance(database, AuroraDatabase)
    return database.capacity_max


def connections(watched: Watched) -> float:
    """How many connections the database takes at its most capacity."""
    database = watched.stage.database
    assert isinstance(database, AuroraDatabase)
    small = database.capacity_min <= CAPACITY_SMALL
    most = CONNECTIONS_MAX_SMALL if small else CONNECTIONS_MAX
    return float(min(most, int(database.capacity_max * ACU_MEMORY_BYTES) // CONNECTION_BYTES))


def _number(watched: Watched, phone_number_id: str) -> Number:
    (number,) = (number for number in watched.numbers if number.phone_number_id == phone_number_id)
    return number

"""What rows of the table are about, and what they look at there, put in few words."""

from collections.abc import Callable, Iterable, Sequence

from infra.observability.rows import Watched
from infra.observability.series import (
    Series,
    of_api,
    of_database,
    of_function,
    of_ours,
    of_topic,
    one,
    visible,
)
from sluice.metrics import Metric

Subjects = Callable[[Watched], Iterable[str]]


def stage(watched: Watched) -> Sequence[str]:
    """The stage itself, in the stack of what all numbers share."""
    return [""] if watched.shared else []


def own_database(watched: Watched) -> Sequence[str]:
    """The stage again, where its database is ours."""
    return [""] if watched.shared and watched.place.cluster else []


def numbers(watched: Watched) -> Iterable[str]:
    """The numbers of a bucket."""
    return (number.phone_number_id for number in watched.numbers)


def services(metric: Metric) -> Subjects:
    """The services that emit a metric."""
    return lambda watched: sorted(metric.services) if watched.shared else []


def functions(*steps: str, but: Sequence[str] = ()) -> Subjects:
    """The functions of these steps, or all but those of some."""

    def named(watched: Watched) -> list[str]:
        wanted, unwanted = set(map(watched.names.of, steps)), set(map(watched.names.of, but))
        return [
            name
            for name in watched.inventory.functions
            if name not in unwanted and (not steps or name in wanted)
        ]

    return named


def waiting(_watched: Watched, queue: str) -> Series:
    """What waits in a queue."""
    return one(visible(queue))


def of_one_function(name: str) -> Callable[[Watched, str], Series]:
    """A metric of Lambda."""
    return lambda _, function: one(of_function(function, name))


def of_stage(metric: Metric, service: str, statistic: str) -> Callable[[Watched, str], Series]:
    """A metric of ours that one service emits for the whole stage."""
    return lambda watched, _: one(of_ours(watched.place, metric, statistic, service=service))


def of_service(metric: Metric) -> Callable[[Watched, str], Series]:
    """A metric of ours, summed up, of the service that an alarm is about."""
    return lambda watched, service: one(of_ours(watched.place, metric, "Sum", service=service))


def of_one_topic(topic: Callable[[Watched], str], name: str) -> Callable[[Watched, str], Series]:
    """A metric of a topic."""
    return lambda watched, _: one(of_topic(topic(watched), name))


def of_the_api(name: str) -> Callable[[Watched, str], Series]:
    """A metric of the HTTP API of the webhook."""
    return lambda watched, _: one(of_api(watched.place, name))


def of_the_database(name: str) -> Callable[[Watched, str], Series]:
    """A metric of the cluster, at its highest."""
    return lambda watched, _: one(of_database(watched.place, name, "Maximum"))

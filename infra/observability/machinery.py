"""Widgets of what runs: queues, functions, topics, the database."""

from typing import Final

from aws_cdk import aws_cloudwatch as cloudwatch

from infra.observability import formulas
from infra.observability.inventory import Inventory
from infra.observability.rows import Watched
from infra.observability.series import (
    Source,
    of_database,
    of_function,
    of_queue,
    of_topic,
    visible,
)
from infra.observability.widgets import all_of, graph

Widgets = list[cloudwatch.IWidget]
DEPTHS: Final = {
    "Depth": ("ApproximateNumberOfMessagesVisible", "Maximum"),
    "In flight": ("ApproximateNumberOfMessagesNotVisible", "Maximum"),
    "Age of the oldest, s": ("ApproximateAgeOfOldestMessage", "Maximum"),
}


def queues(watched: Watched, inventory: Inventory, what: str) -> Widgets:
    """How deep, how busy and how old the queues of some stacks are."""
    return [
        graph(
            f"{title}: queues of {what}",
            *all_of({_short(watched, one): of_queue(one, *metric) for one in inventory.work}),
            right=all_of({_short(watched, one): visible(one) for one in inventory.dead})
            if title == "Depth"
            else (),
        )
        for title, metric in DEPTHS.items()
    ]


def functions(watched: Watched, inventory: Inventory, what: str) -> Widgets:
    """What Lambda tells of the functions of some stacks."""

    def each(name: str, statistic: str = "Sum") -> list[cloudwatch.IMetric]:
        return all_of({
            f"{_short(watched, one)} {name}": of_function(one, name, statistic)
            for one in inventory.functions
        })  # fmt: skip

    return [
        graph(f"Invocations of {what}", *each("Invocations")),
        graph(f"Errors and throttles of {what}", *each("Errors"), right=each("Throttles")),
        graph(
            f"p95 of duration (ms) and concurrency of {what}",
            *each("Duration", "p95"),
            right=each("ConcurrentExecutions", "Maximum"),
        ),
    ]


def topics(watched: Watched) -> Widgets:
    """What SNS published, delivered, failed at and filtered."""
    names = ("Published", "NotificationsDelivered", "NotificationsFailed",
             "NotificationsFilteredOut")  # fmt: skip

    def of(topic: str) -> dict[str, Source]:
        return {
            name: of_topic(
                topic,
                "NumberOfMessagesPublished" if name == "Published" else f"NumberOf{name}",
            )
            for name in names
        }

    return [
        graph("Topic of requests", *all_of(of(watched.names.topic))),
        graph("Topic of replies", *all_of(of(watched.names.inbound))),
    ]


def database(watched: Watched) -> Widgets:
    """What Aurora tells of the cluster."""
    place = watched.place
    shown = {"CommitLatency": "Average", "WriteLatency": "Average"}
    return [
        graph(
            "Capacity of the database, ACU",
            *all_of({"capacity": of_database(place, "ServerlessDatabaseCapacity", "Maximum")}),
            limits={"most": formulas.capacity(watched)},
        ),
        graph(
            "Connections",
            *all_of({"connections": of_database(place, "DatabaseConnections", "Maximum")}),
        ),
        graph(
            "Latency of the database",
            *all_of({name: of_database(place, name, one) for name, one in shown.items()}),
        ),
    ]


def _short(watched: Watched, name: str) -> str:
    return name.removeprefix(watched.names.prefix)

"""What an alarm or a widget looks at: metrics of AWS and of ours, and what is made of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from sluice.metrics import Metric

ONE: Final = "m0"
OF_FUNCTION_URL: Final = {
    "Count": "UrlRequestCount",
    "4xx": "Url4xxCount",
    "5xx": "Url5xxCount",
}
"""What Lambda calls the metrics of an HTTP API, of a function's own address."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One metric: where it is, of what, and what is made of a period of it."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    statistic: str

    def metric(
        self, *, minutes: int, label: str | None = None, color: str | None = None
    ) -> cloudwatch.Metric:
        """The same for the CDK."""
        return cloudwatch.Metric(
            namespace=self.namespace,
            metric_name=self.name,
            dimensions_map=dict(self.dimensions),
            statistic=self.statistic,
            period=Duration.minutes(minutes),
            label=label,
            color=color,
        )


@dataclass(frozen=True, kw_only=True)
class Series:
    """Metrics by the names that the expression gives them; one of them needs no expression."""

    sources: Mapping[str, Source]
    expression: str | None = None

    def metric(self, *, minutes: int, label: str | None = None) -> cloudwatch.IMetric:
        """The same for the CDK."""
        if self.expression is None:
            (source,) = self.sources.values()
            return source.metric(minutes=minutes, label=label)
        return cloudwatch.MathExpression(
            expression=self.expression,
            using_metrics={
                name: source.metric(minutes=minutes) for name, source in self.sources.items()
            },
            period=Duration.minutes(minutes),
            label=label,
        )

    def renamed(self, suffix: str) -> "Series":
        """The same under other names, because a graph takes each name once."""
        expression = self.expression
        for name in self.sources:
            expression = expression and re.sub(rf"\b{name}\b", f"{name}_{suffix}", expression)
        sources = {f"{name}_{suffix}": source for name, source in self.sources.items()}
        return Series(sources=sources, expression=expression)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the metrics of one stage are, as far as names do not say it."""

    namespace: str
    """Of our own metrics."""
    api_id: str = ""
    """Empty where Meta calls the function itself."""
    webhook: str = ""
    """The name of that function."""
    cluster: str = ""
    """The identifier of the Aurora cluster; empty where somebody else runs the database."""


def one(source: Source) -> Series:
    """A metric as it is."""
    return Series(sources={ONE: source})


def of_queue(queue: str, name: str, statistic: str) -> Source:
    """A metric of SQS. A queue that is idle for six hours stops reporting."""
    return Source(
        namespace="AWS/SQS", name=name, dimensions={"QueueName": queue}, statistic=statistic
    )


def visible(queue: str, statistic: str = "Maximum") -> Source:
    """Messages that wait in a queue: what somebody has received is being dealt with."""
    return of_queue(queue, "ApproximateNumberOfMessagesVisible", statistic)


def of_function(function: str, name: str, statistic: str = "Sum") -> Source:
    """A metric of Lambda, over all versions and aliases of a function."""
    return Source(
        namespace="AWS/Lambda",
        name=name,
        dimensions={"FunctionName": function},
        statistic=statistic,
    )


def of_topic(topic: str, name: str) -> Source:
    """A metric of SNS."""
    return Source(namespace="AWS/SNS", name=name, dimensions={"TopicName": topic}, statistic="Sum")


def of_api(place: Place, name: str, statistic: str = "Sum") -> Source:
    """A metric of what Meta calls: the HTTP API, or the function's own address."""
    if not place.api_id:
        return of_function(place.webhook, OF_FUNCTION_URL[name], statistic)
    return Source(
        namespace="AWS/ApiGateway",
        name=name,
        dimensions={"ApiId": place.api_id},
        statistic=statistic,
    )


def of_database(place: Place, name: str, statistic: str) -> Source:
    """A metric of the Aurora cluster."""
    return Source(
        namespace="AWS/RDS",
        name=name,
        dimensions={"DBClusterIdentifier": place.cluster},
        statistic=statistic,
    )


def of_ours(place: Place, metric: Metric, statistic: str, **dimensions: str) -> Source:
    """A metric of our own: by its service, and whatever else it is emitted by."""
    service = dimensions["service"]
    assert service in metric.services, f"{service} emits no {metric.name}"
    further = tuple(name for name in dimensions if name != "service")
    assert further in metric.by, f"{metric.name} is not emitted by {further}"
    return Source(
        namespace=place.namespace, name=metric.name, dimensions=dimensions, statistic=statistic
    )

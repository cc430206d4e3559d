"""Widgets in few words."""

from collections.abc import Mapping, Sequence
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.observability.questions import Question
from infra.observability.series import Place, Source, of_ours
from sluice.metrics import Metric

THIRD: Final = 8
WHOLE: Final = 24
HEIGHT: Final = 6


def graph(
    title: str,
    *left: cloudwatch.IMetric,
    right: Sequence[cloudwatch.IMetric] = (),
    limits: Mapping[str, float] | None = None,
    width: int = THIRD,
) -> cloudwatch.GraphWidget:
    """Lines over time; ``limits`` are drawn across, with their names."""
    return cloudwatch.GraphWidget(
        title=title,
        left=list(left),
        right=list(right),
        left_annotations=[
            cloudwatch.HorizontalAnnotation(value=value, label=label)
            for label, value in (limits or {}).items()
        ],
        width=width,
        height=HEIGHT,
    )


def table(title: str, question: Question, groups: Sequence[str]) -> cloudwatch.LogQueryWidget:
    """The answer to a question, as it is."""
    return _logs(title, question, groups, cloudwatch.LogQueryVisualizationType.TABLE, WHOLE)


def lines(title: str, question: Question, groups: Sequence[str]) -> cloudwatch.LogQueryWidget:
    """The answer to a question over time."""
    return _logs(title, question, groups, cloudwatch.LogQueryVisualizationType.LINE, THIRD)


def _logs(
    title: str,
    question: Question,
    groups: Sequence[str],
    view: cloudwatch.LogQueryVisualizationType,
    width: int,
) -> cloudwatch.LogQueryWidget:
    return cloudwatch.LogQueryWidget(
        title=title,
        log_group_names=list(groups),
        query_string=question.query,
        view=view,
        width=width,
        height=HEIGHT,
    )


def ours(
    place: Place, metric: Metric, service: str, statistic: str = "Sum", label: str | None = None
) -> cloudwatch.Metric:
    """A metric of ours over the whole stage, minute by minute."""
    source = of_ours(place, metric, statistic, service=service)
    return source.metric(minutes=1, label=label or f"{metric.name} {_word(statistic)}".strip())


def each_number(
    place: Place,
    metric: Metric,
    statistic: str = "Sum",
    per_second: bool = False,  # noqa: FBT002
) -> cloudwatch.MathExpression:
    """A metric of ours, a line for each number (and lane) that has sent."""
    names = ",".join((place.namespace, "service", *max(metric.by, key=len)))
    search = f"SEARCH('{{{names}}} MetricName=\"{metric.name}\"', '{statistic}', 60)"
    return cloudwatch.MathExpression(
        expression=f"{search} / 60" if per_second else search,
        using_metrics={},
        label=_word(statistic),
        period=Duration.minutes(1),
    )


def all_of(sources: Mapping[str, Source]) -> list[cloudwatch.IMetric]:
    """Metrics with their labels, minute by minute."""
    return [source.metric(minutes=1, label=label) for label, source in sources.items()]


def _word(statistic: str) -> str:
    return "" if statistic == "Sum" else statistic

"""One JSON log line and its metrics (EMF) for each batch; never a phone number, never a token."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sluice.domain.failures import withheld


class Telemetry:
    """What a function tells about itself."""

    def __init__(self, logger: Logger, metrics: Metrics) -> None:
        self._logger = logger
        self._metrics = metrics

    def report(
        self,
        message: str,
        *,
        counts: Mapping[str, float] | None = None,
        seconds: Mapping[str, float] | None = None,
        dimensions: Mapping[str, str] | None = None,
        **facts: Any,
    ) -> None:
        """Log a batch with its facts, and emit its counts and durations as metrics.

        ``dimensions`` beside the service: phone_number_id and lane, nothing else, because each
        value is a metric that is paid for.
        """
        counts = {name: count for name, count in (counts or {}).items() if count}
        seconds = dict(seconds or {})
        self._logger.info(message, extra={**(dimensions or {}), **facts, **counts, **seconds})
        for name, value in (dimensions or {}).items():
            self._metrics.add_dimension(name, value)
        for name, count in counts.items():
            self._metrics.add_metric(name, MetricUnit.Count, count)
        for name, duration in seconds.items():
            self._metrics.add_metric(name, MetricUnit.Seconds, duration)
        if counts or seconds:
            self._metrics.flush_metrics()
        else:
            self._metrics.clear_metrics()

    def warn(self, message: str, **facts: Any) -> None:
        """Log something that a person may want to look at."""
        self._logger.warning(message, extra=facts)

    def fail(self, message: str, error: BaseException, **facts: Any) -> None:
        """Log a failure with its traceback, and of its words what may be told."""
        self._logger.error(message, exc_info=withheld(error), extra=facts)

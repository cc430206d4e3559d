"""One JSON log line and its metrics (EMF) for each batch; never a phone number, never a token."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools import Logger, Metrics

from sluice.domain.failures import withheld
from sluice.metrics import METRICS, Dimensions, Metric

_MEDIAN, _PERCENTILE = 0.5, 0.95


class Telemetry:
    """What a function tells about itself."""

    def __init__(self, logger: Logger, metrics: Metrics) -> None:
        self._logger = logger
        self._metrics = metrics

    def begin(self, context: Any) -> None:
        """From here on every line has the id that Lambda gave this invocation."""
        self._logger.append_keys(request_id=context.aws_request_id)

    def report(
        self,
        message: str,
        *,
        counts: Mapping[str, float] | None = None,
        seconds: Mapping[str, float] | None = None,
        samples: Mapping[str, Sequence[float]] | None = None,
        dimensions: Mapping[str, str] | None = None,
        **facts: Any,
    ) -> None:
        """Log a batch with its facts, and emit what ``sluice.metrics`` lists of its values.

        ``samples`` are values of single events: each is emitted, so that percentiles are exact, and
        the log has their median, their 95th percentile and the greatest. ``dimensions`` beside the
        service are phone_number_id and lane. A count of zero is neither logged nor emitted, but for
        gauges.
        """
        values = {**(counts or {}), **(seconds or {})}
        values = {name: value for name, value in values.items() if value or _is_gauge(name)}
        samples = {name: several for name, several in (samples or {}).items() if several}
        told = {**(dimensions or {}), **facts, **values}
        told |= {name: _summary(several) for name, several in samples.items()}
        self._logger.info(message, extra=told)
        emitted = {name: (value,) for name, value in values.items()} | samples
        self._emit(emitted, dimensions or {})

    def _emit(self, values: Mapping[str, Sequence[float]], dimensions: Mapping[str, str]) -> None:
        """Print a line for each set of dimensions: EMF gives all metrics of a line the same."""
        by_dimensions: dict[Dimensions, list[Metric]] = {}
        for name in values:
            for names in METRICS[name].by if name in METRICS else ():
                by_dimensions.setdefault(names, []).append(METRICS[name])
        for names, metrics in by_dimensions.items():
            for name in names:
                self._metrics.add_dimension(name, dimensions[name])
            for metric in metrics:
                for value in values[metric.name]:
                    # Prints and begins anew at a hundred values, the most that EMF allows.
                    self._metrics.add_metric(metric.name, metric.unit, value)
            if self._metrics.metric_set:
                self._metrics.flush_metrics()
            self._metrics.clear_metrics()

    def warn(self, message: str, **facts: Any) -> None:
        """Log something that a person may want to look at."""
        self._logger.warning(message, extra=facts)

    def fail(self, message: str, error: BaseException, **facts: Any) -> None:
        """Log a failure with its traceback, and of its words what may be told."""
        self._logger.error(message, exc_info=withheld(error), extra=facts)


def _is_gauge(name: str) -> bool:
    return name in METRICS and METRICS[name].gauge


def _summary(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return {"p50": at(_MEDIAN), "p95": at(_PERCENTILE), "max": ordered[-1], "n": len(ordered)}

"""The real telemetry behind whatever port a test gives to functions: what they log and emit."""

import io
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aws_lambda_powertools import Logger, Metrics

from sluice.adapters.telemetry import Telemetry

FUNCTIONS = Path(__file__).parents[1] / "functions"


class Context:
    """Of an invocation, as far as telemetry reads it."""

    aws_request_id = "c0a7c9f4-4d0e-4a4e-9a4e-0d0d9d8b7a6f"


@dataclass
class Observed:
    """Hands each report to the telemetry of the function that made it, and keeps what comes out."""

    printed: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Lines of log, by step."""
    emitted: set[tuple[str, str, frozenset[str]]] = field(default_factory=set)
    """Metrics: by which step, their name, their dimensions."""

    def report(self, message: str, **told: Any) -> None:
        self._hand("report", message, **told)

    def warn(self, message: str, **told: Any) -> None:
        self._hand("warn", message, **told)

    def fail(self, message: str, error: BaseException, **told: Any) -> None:
        self._hand("fail", message, error, **told)

    def fields(self, steps: set[str]) -> set[str]:
        """Every field that those steps have logged, as Logs Insights names it."""
        return {name for step, line in self.printed if step in steps for name in flat(line)}

    def _hand(self, what: str, *given: Any, **told: Any) -> None:
        step, log, metrics = _step(), io.StringIO(), io.StringIO()
        # Another name each time: Python keeps loggers, and what they write to, by name.
        name = f"{step}-{len(self.printed)}"
        telemetry = Telemetry(
            Logger(service=name, stream=log, level="INFO"),
            Metrics(namespace="Sluice", service=step),
        )
        telemetry.begin(Context())
        with redirect_stdout(metrics):
            getattr(telemetry, what)(*given, **told)
        self.printed += [(step, json.loads(line)) for line in log.getvalue().splitlines()]
        for line in metrics.getvalue().splitlines():
            for directive in json.loads(line)["_aws"]["CloudWatchMetrics"]:
                for names in directive["Dimensions"]:
                    for metric in directive["Metrics"]:
                        self.emitted.add((step, metric["Name"], frozenset(names)))


def flat(value: Any, prefix: str = "") -> Iterator[str]:
    """Names of what lies in a JSON object, as Logs Insights discovers them: ``a.b``, ``list.0``."""
    if isinstance(value, Mapping):
        named = list(value.items())
    elif isinstance(value, list):
        named = list(enumerate(value))
    else:
        yield prefix
        return
    for name, inner in named:
        yield from flat(inner, f"{prefix}.{name}" if prefix else str(name))


def _step() -> str:
    """Whose handler is at work: by its file, or by the inbox that it empties."""
    frame = sys._getframe()
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.name == "handler.py" and path.is_relative_to(FUNCTIONS):
            return path.parent.name
        frame = frame.f_back
    raise AssertionError("no handler is at work")

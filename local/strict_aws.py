"""ministack that reads policies as AWS does, and writes down each of its answers.

Run by the interpreter of ministack's own environment, with AUTH=true: ``strict_aws.py FILE``.
What it corrects is in docs/untried.md. FILE gets a JSON object a line: ``principal`` (an ARN, or
the name of a service), ``action``, ``resource``, ``allowed``.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

SCHEDULES = "/schedules/"


def main(answers: Path) -> None:
    """Serve until ended."""
    app: Any = importlib.import_module("ministack.app")
    actions: Any = importlib.import_module("ministack.core.iam_actions")
    evaluator: Any = importlib.import_module("ministack.core.iam_evaluator")
    sqs: Any = importlib.import_module("ministack.services.sqs")
    note = _notes(answers)
    # With TLS of its own it would listen on port 443 too.
    app.pin_request_origin = _as_if_by_tls(app.pin_request_origin)
    actions.extract_iam_action = _actions_as_iam_names_them(actions.extract_iam_action)
    actions.extract_resource_arn = _resources_as_aws_names_them(actions.extract_resource_arn)
    evaluator.enforce = _noted_calls(evaluator, note)
    sqs.queue_policy_allows = _noted_deliveries(sqs.queue_policy_allows, note)
    app.main()


def _notes(answers: Path) -> Callable[[str, str, str, bool], None]:
    file = os.open(answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(principal: str, action: str, resource: str, allowed: bool) -> None:
        line = json.dumps(
            {"principal": principal, "action": action, "resource": resource, "allowed": allowed}
        )
        os.write(file, line.encode() + b"\n")

    return note


def _as_if_by_tls(pin: Callable[..., None]) -> Callable[..., None]:
    """Let policies see TLS where there is the loopback interface."""

    def pinned(address: str, _secure: bool) -> None:
        pin(address, secure_transport=True)

    return pinned


def _actions_as_iam_names_them(extract: Callable[..., str | None]) -> Callable[..., str | None]:
    """Batches of SNS and SQS have no permission of their own."""

    def extracted(service: str, *request: Any) -> str | None:
        action = extract(service, *request)
        return action.removesuffix("Batch") if action and service in {"sns", "sqs"} else action

    return extracted


def _resources_as_aws_names_them(extract: Callable[..., str]) -> Callable[..., str]:
    """Name schedules by their group, parameters by their path, and all log groups."""

    def extracted(service: str, *request: Any) -> str:
        _, path, _, body, query, region, account = request
        if service == "scheduler" and path.startswith(SCHEDULES):
            group = _first(query.get("groupName")) or _json(body).get("GroupName") or "default"
            name = unquote(path.removeprefix(SCHEDULES))
            return f"arn:aws:scheduler:{region}:{account}:schedule/{group}/{name}"
        if service == "ssm" and (under := _json(body).get("Path")):
            return f"arn:aws:ssm:{region}:{account}:parameter{under}"
        named = extract(service, *request)
        if service == "logs" and named == "*":
            # As AWS tells those whom it refuses to list groups.
            return f"arn:aws:logs:{region}:{account}:log-group::log-stream:"
        return named

    return extracted


def _noted_calls(evaluator: Any, note: Callable[[str, str, str, bool], None]) -> Callable[..., Any]:
    enforce = evaluator.enforce

    def noted(
        access_key: str, action: str, service: str, region: str, *args: Any, **more: Any
    ) -> Any:
        denied = enforce(access_key, action, service, region, *args, **more)
        resource = more.get("resource_arn", args[0] if args else "*")
        note(evaluator.caller_arn(), action, resource, denied is None)
        return denied

    return noted


def _noted_deliveries(
    allows: Callable[..., bool], note: Callable[[str, str, str, bool], None]
) -> Callable[..., bool]:
    def noted(queue_arn: str, service: str, source_arn: str, source_account: str) -> bool:
        allowed = allows(queue_arn, service, source_arn, source_account)
        note(service, "sqs:SendMessage", queue_arn, allowed)
        return allowed

    return noted


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _first(value: Any) -> str:
    return str(value[0]) if isinstance(value, list) and value else str(value or "")


if __name__ == "__main__":
    # ministack reads the arguments too.
    main(Path(sys.argv.pop()))

"""What policies said to each call, and what roles allow: both as they are deployed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from local.aws import LocalAws

ASSUMED: Final = ":assumed-role/"
SNS: Final = "sns.amazonaws.com"


@dataclass(frozen=True, order=True)
class Answer:
    """What policies said to one call."""

    principal: str
    """A function by its name, a service, or the ARN of anybody else."""
    action: str
    resource: str
    allowed: bool


@dataclass(frozen=True, order=True)
class Permission:
    """One action on one resource, which the role of a function has."""

    function: str
    action: str
    resource: str
    """As in the policy: a pattern."""

    def covers(self, answer: Answer) -> bool:
        """Whether a call needs it."""
        return (
            answer.principal == self.function
            and fnmatchcase(answer.action, self.action)
            and fnmatchcase(answer.resource, self.resource)
        )


def answers(aws: LocalAws, *, since: int = 0) -> list[Answer]:
    """Every answer but the first ``since``, without those to the root of the account."""
    assert aws.answers is not None
    lines = aws.answers.read_text(encoding="utf-8").splitlines()[since:]
    told = [json.loads(line) for line in lines]
    return [
        Answer(_name(one["principal"]), one["action"], one["resource"], one["allowed"])
        for one in told
        if not one["principal"].endswith(":root")
    ]


def answers_so_far(aws: LocalAws) -> int:
    """How many there are, those to the root included."""
    assert aws.answers is not None
    return len(aws.answers.read_text(encoding="utf-8").splitlines())


def permissions(aws: LocalAws) -> set[Permission]:
    """Everything that the roles of our functions allow by policies of their own."""
    found = set()
    for function in functions(aws):
        for _, document in _policies(aws, function):
            for statement in document["Statement"]:
                found |= set(_permissions(function["FunctionName"], statement))
    return found


def functions(aws: LocalAws) -> list[Mapping[str, Any]]:
    """Our functions, as Lambda lists them."""
    pages = aws.client("lambda").get_paginator("list_functions").paginate()
    return [
        function
        for page in pages
        for function in page["Functions"]
        if function["FunctionName"].startswith("sluice-")
    ]


def polled(aws: LocalAws) -> set[tuple[str, str]]:
    """Functions and the queues that Lambda polls for them."""
    mappings = aws.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    return {(one["FunctionArn"].split(":")[6], one["EventSourceArn"]) for one in mappings}


@contextmanager
def without(aws: LocalAws, permission: Permission) -> Iterator[None]:
    """Take a permission away from its role for a while."""
    (function,) = (one for one in functions(aws) if one["FunctionName"] == permission.function)
    iam, role = aws.client("iam"), _role(function)
    before = _policies(aws, function)
    for name, document in before:
        _put(iam, role, name, {**document, "Statement": _rest(document["Statement"], permission)})
    try:
        yield
    finally:
        for name, document in before:
            _put(iam, role, name, document)


def _put(iam: Any, role: str, name: str, document: Mapping[str, Any]) -> None:
    iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document))


def _rest(statements: list[Mapping[str, Any]], permission: Permission) -> list[Mapping[str, Any]]:
    """The statements, each permission one of its own, without this one."""
    return [
        {**statement, "Action": kept.action, "Resource": kept.resource}
        for statement in statements
        for kept in _permissions(permission.function, statement)
        if kept != permission
    ]


def _permissions(function: str, statement: Mapping[str, Any]) -> Iterator[Permission]:
    for action in _listed(statement["Action"]):
        for resource in _listed(statement["Resource"]):
            yield Permission(function, action, resource)


def _policies(aws: LocalAws, function: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    iam, role = aws.client("iam"), _role(function)
    names = iam.list_role_policies(RoleName=role)["PolicyNames"]
    return [
        (name, iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"])
        for name in names
    ]


def _role(function: Mapping[str, Any]) -> str:
    return str(function["Role"]).rpartition("/")[2]


def _name(principal: str) -> str:
    return principal.rpartition("/")[2] if ASSUMED in principal else principal


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)

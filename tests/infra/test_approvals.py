"""Who may approve and who may publish, by the policies as IAM reads them."""

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest

from infra.application import new_app, templates_of
from infra.config import Stage, load_stage
from infra.stage_checks import approval_problems
from infra.validators import InvalidDeploymentError
from tests.infra.example import code_in

APPROVER = "arn:aws:iam::123456789012:role/head-of-clinic"
USER = "arn:aws:iam::123456789012:user/grace"
PUBLISHER = "arn:aws:iam::123456789012:role/head-of-clinic-assistant"
REDRIVE = "arn:aws:iam::123456789012:role/SluiceShared-example-RedriveStepFunctionServiceRole"
SCHEDULER = "arn:aws:iam::123456789012:role/SluiceShared-example-ScheduleRole"
SERVICE = ""
"""A service, such as SNS, has no ARN."""
EXAMPLE = load_stage("example")


@pytest.fixture(scope="module", params=[(APPROVER, USER), ()], ids=["approvers", "nobody"])
def stage(request: pytest.FixtureRequest) -> Stage:
    above = 1_000 if request.param else None
    return replace(EXAMPLE, approval_above_recipients=above, approvers=request.param)


@pytest.fixture(scope="module")
def resources(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    app = new_app(str(tmp_path_factory.mktemp("cdk")))
    templates = templates_of(app, stage=stage, code=code_in(tmp_path_factory.mktemp("code")))
    shared: dict[str, Any] = templates["SluiceShared-example"]["Resources"]
    return shared


def statements(resources: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Of the policies of a queue or topic, by its name."""
    found = []
    for policy in resources.values():
        properties = policy.get("Properties", {})
        for target in [*properties.get("Queues", []), *properties.get("Topics", [])]:
            target_properties = resources[target["Ref"]]["Properties"]
            if target_properties.get("QueueName", target_properties.get("TopicName")) == name:
                found += properties["PolicyDocument"]["Statement"]
    return found


def answer(resources: dict[str, Any], name: str, action: str, principal: str) -> str | None:
    """What the resource's policy says over TLS: Deny, Allow, or nothing, which leaves it to IAM."""
    effects = {
        statement["Effect"]
        for statement in statements(resources, name)
        if covers(statement, action) and applies(statement, principal)
    }
    return "Deny" if "Deny" in effects else "Allow" if "Allow" in effects else None


def covers(statement: dict[str, Any], action: str) -> bool:
    actions = statement["Action"]
    names = [actions] if isinstance(actions, str) else actions
    return any(fnmatchcase(action, name) for name in names)


def applies(statement: dict[str, Any], principal: str) -> bool:
    condition = statement.get("Condition", {})
    if "Bool" in condition:
        return False
    told = statement["Principal"]
    named = told if told == "*" else told.get("AWS", told.get("Service"))
    if named != "*" and principal not in ([named] if isinstance(named, str) else named):
        return False
    for operator, keys in condition.items():
        values = keys.get("aws:PrincipalArn")
        if operator == "ArnEquals" and values is not None and principal not in values:
            return False
        # A negated operator is true of who has no such key.
        if operator == "ArnNotEquals" and principal in values:
            return False
    return True


@pytest.mark.parametrize(
    ("name", "action", "principal", "expected"),
    [
        ("sluice-example-approvals", "sqs:SendMessage", APPROVER, "Allow"),
        ("sluice-example-approvals", "sqs:SendMessage", USER, "Allow"),
        ("sluice-example-approvals", "sqs:SendMessage", PUBLISHER, "Deny"),
        ("sluice-example-approvals", "sqs:SendMessage", REDRIVE, "Deny"),
        ("sluice-example-approvals", "sqs:SendMessage", SERVICE, "Deny"),
        ("sluice-example-approvals", "sqs:ReceiveMessage", APPROVER, None),
        ("sluice-example-approvals-dead", "sqs:SendMessage", PUBLISHER, "Deny"),
        ("sluice-example-campaign-requests", "sns:Publish", APPROVER, "Deny"),
        ("sluice-example-campaign-requests", "sns:Publish", USER, "Deny"),
        ("sluice-example-campaign-requests", "sns:Publish", PUBLISHER, None),
        ("sluice-example-campaign", "sqs:SendMessage", APPROVER, "Deny"),
        ("sluice-example-command", "sqs:SendMessage", APPROVER, "Deny"),
        ("sluice-example-export", "sqs:SendMessage", USER, "Deny"),
        ("sluice-example-schedule", "sqs:SendMessage", APPROVER, "Deny"),
        ("sluice-example-schedule", "sqs:SendMessage", SCHEDULER, None),
        ("sluice-example-campaign", "sqs:SendMessage", PUBLISHER, None),
        ("sluice-example-command", "sqs:SendMessage", REDRIVE, None),
    ],
)
def test_who_approves_cannot_publish_and_nobody_else_approves(
    stage: Stage,
    resources: dict[str, Any],
    name: str,
    action: str,
    principal: str,
    expected: str | None,
) -> None:
    if not stage.approvers:
        nobody = "Deny" if action == "sqs:SendMessage" and "approvals" in name else None
        expected = nobody
    assert answer(resources, name, action, principal) == expected


def test_the_topic_still_reaches_its_queues(resources: dict[str, Any]) -> None:
    service = "sns.amazonaws.com"
    for queue in ("campaign", "command", "export", "schedule"):
        allowed = [
            statement
            for statement in statements(resources, f"sluice-example-{queue}")
            if statement["Effect"] == "Allow" and statement["Principal"] == {"Service": service}
        ]
        assert len(allowed) == 1
        assert answer(resources, f"sluice-example-{queue}", "sqs:SendMessage", service) == "Allow"


def test_nothing_redrives_approvals_because_who_sent_them_would_be_lost(
    resources: dict[str, Any],
) -> None:
    for resource in resources.values():
        if resource["Type"] == "AWS::SSM::Parameter":
            assert "approvals" not in str(resource["Properties"]["Name"])


@pytest.mark.parametrize("step", ["campaign", "command"])
def test_the_function_is_told_to_how_many_people_a_campaign_may_go(
    stage: Stage, resources: dict[str, Any], step: str
) -> None:
    (function,) = (
        resource["Properties"]
        for resource in resources.values()
        if resource["Properties"].get("FunctionName") == f"sluice-example-{step}"
    )
    told = function["Environment"]["Variables"]["APPROVAL_ABOVE_RECIPIENTS"]
    assert json.loads(told) == stage.approval_above_recipients


def test_a_limit_without_approvers_is_not_deployed() -> None:
    alone = replace(EXAMPLE, approval_above_recipients=1_000)
    assert list(approval_problems(alone)) == [
        "approval_above_recipients: without approvers a large campaign would wait for ever"
    ]


def test_an_approver_who_is_named_twice_is_not_deployed() -> None:
    twice = replace(EXAMPLE, approvers=(APPROVER, APPROVER))
    assert list(approval_problems(twice)) == [f"approvers: {APPROVER} appears 2 times"]


def test_the_problems_of_approvals_stop_a_deployment(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    alone = replace(EXAMPLE, approval_above_recipients=0)
    app = new_app(str(tmp_path_factory.mktemp("cdk")))
    with pytest.raises(InvalidDeploymentError, match="would wait for ever"):
        templates_of(app, stage=alone, code=code_in(tmp_path_factory.mktemp("code")))

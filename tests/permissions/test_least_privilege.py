"""Roles allow what their functions do and nothing else; with one permission less they stop."""

from fnmatch import fnmatchcase

import pytest

from local.system import System
from tests.permissions.answers import permissions, polled
from tests.permissions.kinds import audience, parked, redrive, send, signal, suppressions
from tests.permissions.mutations import refusal
from tests.permissions.traffic import Passed, Passing, Traffic

pytestmark = pytest.mark.timeout(1_200)

LAMBDA_POLLS = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
"""What Lambda itself does with a queue; the local one asks nobody."""
UNUSED = {
    ("sluice-local-campaign", "s3:AbortMultipartUpload"): "only where a file cannot be written",
    ("sluice-local-campaign", "s3:ListBucket"): "else S3 says forbidden, not missing, of a file",
    ("sluice-local-restore", "logs:FilterLogEvents"): "a group is named with `:*` or without",
    ("sluice-local-schedule", "iam:PassRole"): "Scheduler asks it; the local one asks nobody",
}
TAKEN: tuple[tuple[str, str, str, Passing], ...] = (
    ("campaign", "s3:GetObject", "*", audience),
    ("campaign", "s3:PutObject", "*", suppressions),
    ("status", "sqs:SendMessage", "*-parked", parked),
    ("redrive", "sqs:SendMessage", "*-export", redrive),
    ("send-106540352242922-bulk", "secretsmanager:GetSecretValue", "*", send),
    ("signal", "sns:Publish", "*", signal),
    ("webhook", "sqs:SendMessage", "*-signals", signal),
)
"""A sample: a function, an action, its resource, and what needs it. `mutations` takes all."""


def test_every_permission_is_used_or_has_a_reason(passed: Passed, strict: System) -> None:
    polls = polled(strict.aws)
    unused = {
        permission
        for permission in permissions(strict.aws)
        if not any(permission.covers(answer) for answer in passed.answers)
        and not (
            permission.action in LAMBDA_POLLS
            and (permission.function, permission.resource) in polls
        )
    }
    assert {(one.function, one.action) for one in unused} == UNUSED.keys()


def test_no_permission_is_given_twice(passed: Passed, strict: System) -> None:
    """So that whoever takes one away sees what it was for."""
    given = permissions(strict.aws)
    for answer in passed.answers:
        covering = [permission for permission in given if permission.covers(answer)]
        assert len(covering) <= 1, f"{answer} is allowed by {covering}"


@pytest.mark.usefixtures("passed")
@pytest.mark.parametrize(("step", "action", "resource", "kind"), TAKEN)
def test_without_a_permission_the_message_is_refused(
    traffic: Traffic, step: str, action: str, resource: str, kind: Passing
) -> None:
    (permission,) = (
        permission
        for permission in permissions(traffic.system.aws)
        if (permission.function, permission.action) == (f"sluice-local-{step}", action)
        and fnmatchcase(permission.resource, resource)
    )
    assert refusal(traffic, permission, kind) is not None

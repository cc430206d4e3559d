"""Messages of each kind pass with the roles and policies as they are deployed."""

import pytest
from botocore.exceptions import ClientError

from local.system import System
from tests.permissions.answers import SNS, functions
from tests.permissions.kinds import KINDS
from tests.permissions.traffic import Passed, Passing, Traffic

pytestmark = pytest.mark.timeout(1_200)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_message_passes(kind: Passing, passed: Passed) -> None:
    error = passed.errors[kind]
    if error is not None:
        raise error


def test_nobody_was_refused_anything(passed: Passed) -> None:
    assert not {answer for answer in passed.answers if not answer.allowed}


def test_every_function_and_the_topic_were_asked_for_their_permissions(
    passed: Passed, strict: System
) -> None:
    asked = {answer.principal for answer in passed.answers}
    assert {function["FunctionName"] for function in functions(strict.aws)} <= asked
    assert SNS in asked


def test_an_approver_cannot_publish_and_nobody_else_can_approve(traffic: Traffic) -> None:
    urls = traffic.system.deployment.queue_urls
    with pytest.raises(ClientError, match="AccessDenied"):
        traffic.approver.send_message(QueueUrl=urls["campaign"], MessageBody="{}")
    root = traffic.system.aws.client("sqs")
    with pytest.raises(ClientError, match="AccessDenied"):
        root.send_message(QueueUrl=urls["approvals"], MessageBody="{}")

"""The synthesised policies, read by the local AWS: who gets a message through, and who does not."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from infra.application import new_app, templates_of
from infra.config import load_stage
from local.aws import ACCOUNT, REGION, LocalAws, start_local_aws
from local.processes import Processes
from tests.infra.example import code_in
from tests.infra.test_approvals import statements

MINISTACK = Path(os.environ.get("SLUICE_MINISTACK", Path(__file__).parents[2] / ".venv-ministack"))
TOPIC = "sluice-example-campaign-requests"
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
"""Of both: what holds them apart are the policies of the queue and the topic alone."""

pytestmark = pytest.mark.skipif(not MINISTACK.is_dir(), reason="ministack is not installed")


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    approver = f"arn:aws:iam::{ACCOUNT}:user/approver"
    stage = replace(load_stage("example"), approval_above_recipients=0, approvers=(approver,))
    app = new_app(str(tmp_path_factory.mktemp("cdk")))
    templates = templates_of(app, stage=stage, code=code_in(tmp_path_factory.mktemp("code")))
    shared: dict[str, Any] = templates["SluiceShared-example"]["Resources"]
    return shared


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    run = tmp_path_factory.mktemp("run")
    with Processes(run) as processes:
        yield start_local_aws(
            processes, run_directory=run, environment=MINISTACK, reads_policies=True
        )


def policy_of(resources: dict[str, Any], name: str, arn: str) -> str:
    """The policy as it is deployed, but for TLS, which this machine does not speak."""
    kept = [
        {**statement, "Resource": arn}
        for statement in statements(resources, name)
        if "Bool" not in statement.get("Condition", {})
        and "aws:SourceArn" not in str(statement.get("Condition"))
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": kept})


@pytest.fixture(scope="module")
def places(aws: LocalAws, resources: dict[str, Any]) -> dict[str, str]:
    """The topic and the queues, with their policies."""
    sqs, sns = aws.client("sqs"), aws.client("sns")
    arn = sns.create_topic(Name=TOPIC)["TopicArn"]
    policy = policy_of(resources, TOPIC, arn)
    sns.set_topic_attributes(TopicArn=arn, AttributeName="Policy", AttributeValue=policy)
    found = {"topic": arn}
    for name in ("approvals", "campaign", "command"):
        url = sqs.create_queue(QueueName=f"sluice-example-{name}")["QueueUrl"]
        queue_arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:sluice-example-{name}"
        policy = policy_of(resources, f"sluice-example-{name}", queue_arn)
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
        found[name] = url
    return found


@pytest.fixture(scope="module")
def users(aws: LocalAws) -> dict[str, dict[str, str]]:
    """The keys of two users, both of whom IAM lets do everything."""
    iam, keys = aws.client("iam"), {}
    for name in ("approver", "publisher"):
        iam.create_user(UserName=name)
        document = json.dumps({"Version": "2012-10-17", "Statement": [EVERYTHING]})
        iam.put_user_policy(UserName=name, PolicyName="everything", PolicyDocument=document)
        made = iam.create_access_key(UserName=name)["AccessKey"]
        keys[name] = {
            "aws_access_key_id": made["AccessKeyId"],
            "aws_secret_access_key": made["SecretAccessKey"],
        }
    return keys


@pytest.mark.parametrize(
    ("user", "place", "allowed"),
    [
        ("approver", "approvals", True),
        ("approver", "topic", False),
        ("approver", "campaign", False),
        ("approver", "command", False),
        ("publisher", "approvals", False),
        ("publisher", "topic", True),
    ],
)
def test_each_principal_gets_through_where_it_may_and_nowhere_else(
    aws: LocalAws,
    places: dict[str, str],
    users: dict[str, dict[str, str]],
    user: str,
    place: str,
    allowed: bool,
) -> None:
    def client(service: str) -> Any:
        return boto3.client(
            service, endpoint_url=aws.endpoint_url, region_name=REGION, **users[user]
        )

    def send() -> None:
        if place == "topic":
            client("sns").publish(TopicArn=places[place], Message="{}")
        else:
            client("sqs").send_message(QueueUrl=places[place], MessageBody="{}")

    if allowed:
        send()
    else:
        with pytest.raises(ClientError, match=r"AuthorizationError|AccessDenied"):
            send()

"""Policies of resources, and what each queue ends in, in the templates of the example stage."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.example import Example

ENDS = ("-dead", "-undelivered", "-parked", "-unrouted")
POLICIES = {
    "AWS::S3::Bucket": ("AWS::S3::BucketPolicy", "Bucket"),
    "AWS::SNS::Topic": ("AWS::SNS::TopicPolicy", "Topics"),
    "AWS::SQS::Queue": ("AWS::SQS::QueuePolicy", "Queues"),
}
Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def stacks(example: Example) -> list[Resources]:
    return [template["Resources"] for template in example.templates.values()]


def of_type(resources: Resources, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, resource in resources.items():
        if resource["Type"] == kind:
            yield name, resource.get("Properties", {})


def statements(resources: Resources, kind: str, name: str) -> list[dict[str, Any]]:
    """Of the policies of one resource."""
    policy_kind, key = POLICIES[kind]
    return [
        statement
        for _, policy in of_type(resources, policy_kind)
        if {"Ref": name} in (policy[key] if isinstance(policy[key], list) else [policy[key]])
        for statement in policy["PolicyDocument"]["Statement"]
    ]


@pytest.mark.parametrize("kind", POLICIES)
def test_nothing_is_taken_without_tls(stacks: list[Resources], kind: str) -> None:
    found = 0
    for resources in stacks:
        for name, _ in of_type(resources, kind):
            found += 1
            assert [
                statement
                for statement in statements(resources, kind, name)
                if statement["Effect"] == "Deny"
                and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
                and statement["Principal"] in ("*", {"AWS": "*"})
            ], f"{name} takes what comes without TLS"
    assert found


@pytest.mark.parametrize("kind", POLICIES)
def test_nobody_is_let_in_whoever_it_is(stacks: list[Resources], kind: str) -> None:
    for resources in stacks:
        for name, _ in of_type(resources, kind):
            for statement in statements(resources, kind, name):
                assert statement["Effect"] == "Deny" or statement["Principal"] not in (
                    "*",
                    {"AWS": "*"},
                ), f"{name} lets everybody in"


def test_every_queue_ends_somewhere(stacks: list[Resources]) -> None:
    """In a dead-letter queue of its own stack, unless people or redrive read it."""
    for resources in stacks:
        dead = {name for name, queue in of_type(resources, "AWS::SQS::Queue") if is_end(queue)}
        for name, queue in of_type(resources, "AWS::SQS::Queue"):
            if name in dead:
                assert "RedrivePolicy" not in queue
            else:
                target = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
                assert target in dead


def is_end(queue: dict[str, Any]) -> bool:
    return str(queue["QueueName"]).removesuffix(".fifo").endswith(ENDS)


def test_secrets_have_no_value_in_a_template(stacks: list[Resources]) -> None:
    for resources in stacks:
        for name, secret in of_type(resources, "AWS::SecretsManager::Secret"):
            assert "SecretString" not in secret, name

"""X-Ray, for stages that want it."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_sns as sns
from aws_cdk import aws_xray as xray
from constructs import Construct


def trace_topics(scope: Construct, construct_id: str, *, topics: Sequence[sns.Topic]) -> None:
    """Let SNS write what it sees of these topics.

    Source: https://docs.aws.amazon.com/sns/latest/dg/sns-active-tracing.html
    """
    stack = Stack.of(scope)
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": ["xray:PutTraceSegments", "xray:GetSamplingRules", "xray:GetSamplingTargets"],
        # X-Ray has no resources of its own to name; the condition names ours.
        "Resource": "*",
        "Condition": {
            "StringEquals": {"aws:SourceAccount": stack.account},
            "ArnEquals": {"aws:SourceArn": [topic.topic_arn for topic in topics]},
        },
    }
    xray.CfnResourcePolicy(
        scope,
        construct_id,
        policy_name=f"{stack.stack_name}-topics",
        policy_document=stack.to_json_string({"Version": "2012-10-17", "Statement": [statement]}),
    )

"""The network of a stage by NAT, and the same with IPv6 alone to the outside."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSRequest

from infra.application import new_app, templates_of
from infra.config import ConfigError, load_stage, stage_of
from infra.endpoints import DUAL_STACK_SERVICES, endpoint_variables
from sluice.settings import DATABASE_URL, FUNCTION_VARIABLES
from tests.infra.example import code_in
from tests.infra.test_template import Resources, of_type, ours

EXAMPLE = load_stage("example")


def synthesised(directory: Path, egress: str) -> Resources:
    stage = replace(EXAMPLE, egress=egress)
    (directory / "code").mkdir()
    app = new_app(str(directory / "cdk"))
    templates = templates_of(app, stage=stage, code=code_in(directory / "code"))
    return {
        f"{stack}/{name}": resource
        for stack, template in templates.items()
        for name, resource in template["Resources"].items()
    }


@pytest.fixture(scope="module")
def by_ipv6(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    return synthesised(tmp_path_factory.mktemp("ipv6"), "ipv6")


@pytest.fixture(scope="module")
def by_nat(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    return synthesised(tmp_path_factory.mktemp("nat"), "nat")


def inside(resources: Resources) -> Iterator[dict[str, Any]]:
    return (function for function in ours(resources) if "VpcConfig" in function)


def test_ipv6_needs_no_nat_gateway_and_lets_nothing_in(by_ipv6: Resources) -> None:
    kinds = {resource["Type"] for resource in by_ipv6.values()}
    assert "AWS::EC2::NatGateway" not in kinds
    assert "AWS::EC2::EIP" not in kinds
    assert "AWS::EC2::EgressOnlyInternetGateway" in kinds
    out = [
        route
        for _, route in of_type(by_ipv6, "AWS::EC2::Route")
        if "EgressOnlyInternetGatewayId" in route
    ]
    assert [route["DestinationIpv6CidrBlock"] for route in out] == ["::/0"] * 2


def test_functions_inside_may_speak_ipv6_and_their_group_lets_it_out(by_ipv6: Resources) -> None:
    assert all(function["VpcConfig"]["Ipv6AllowedForDualStack"] for function in inside(by_ipv6))
    (clients,) = (
        group
        for _, group in of_type(by_ipv6, "AWS::EC2::SecurityGroup")
        if group["GroupDescription"] == "Functions that read rows"
    )
    assert {rule.get("CidrIpv6") for rule in clients["SecurityGroupEgress"]} == {None, "::/0"}
    assert "SecurityGroupIngress" not in clients


def test_functions_inside_are_told_where_aws_answers_by_ipv6(by_ipv6: Resources) -> None:
    steps = set()
    for function in ours(by_ipv6):
        variables = function["Environment"]["Variables"]
        told = {name for name in variables if name.startswith("AWS_ENDPOINT_URL_")}
        wanted = {f"AWS_ENDPOINT_URL_{service}" for service in DUAL_STACK_SERVICES.values()}
        assert told == (wanted if "VpcConfig" in function else set())
        steps.add(variables["POWERTOOLS_SERVICE_NAME"] if told else None)
    reading = {step for step, names in FUNCTION_VARIABLES.items() if DATABASE_URL in names}
    assert steps - {None} == reading


def test_systems_manager_and_s3_have_endpoints_in_the_network(by_ipv6: Resources) -> None:
    endpoints = {
        str(endpoint["ServiceName"]): endpoint
        for _, endpoint in of_type(by_ipv6, "AWS::EC2::VPCEndpoint")
    }
    (parameters,) = (value for name, value in endpoints.items() if name.endswith(".ssm"))
    assert parameters["PrivateDnsEnabled"] is True
    assert len(parameters["SubnetIds"]) == 1
    assert any(".s3" in name for name in endpoints)


@pytest.mark.parametrize("service", DUAL_STACK_SERVICES)
def test_the_sdk_obeys_those_variables(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in endpoint_variables("ipv6", region="eu-central-1").items():
        monkeypatch.setenv(name, value)
    keys = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}
    client = boto3.client(service, region_name="eu-central-1", **keys)
    assert client.meta.endpoint_url == f"https://{service}.eu-central-1.api.aws"
    parameters = boto3.client("ssm", region_name="eu-central-1", **keys)
    assert parameters.meta.endpoint_url == "https://ssm.eu-central-1.amazonaws.com"


def test_a_message_is_sent_there_whatever_the_address_of_its_queue_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in endpoint_variables("ipv6", region="eu-central-1").items():
        monkeypatch.setenv(name, value)
    keys = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}
    client = boto3.client("sqs", region_name="eu-central-1", **keys)
    sent_to: list[str] = []

    def stop(request: AWSRequest, **_: Any) -> None:
        sent_to.append(str(request.url))
        raise InterruptedError

    client.meta.events.register("before-send.sqs", stop)
    with pytest.raises(InterruptedError):
        client.send_message(
            QueueUrl="https://sqs.eu-central-1.amazonaws.com/123456789012/queue", MessageBody="x"
        )
    assert sent_to == ["https://sqs.eu-central-1.api.aws/"]


def test_a_stage_may_change_its_way_out_and_its_subnets_keep_their_addresses(
    by_nat: Resources, by_ipv6: Resources
) -> None:
    def addresses(resources: Resources) -> dict[str, Any]:
        return {name: net["CidrBlock"] for name, net in of_type(resources, "AWS::EC2::Subnet")}

    assert addresses(by_nat) == addresses(by_ipv6)
    assert len(addresses(by_nat)) == 6


def test_by_nat_nothing_has_an_address_of_the_other_kind(by_nat: Resources) -> None:
    kinds = [resource["Type"] for resource in by_nat.values()]
    assert kinds.count("AWS::EC2::NatGateway") == 1
    assert "AWS::EC2::VPCCidrBlock" not in kinds
    assert not [f for f in inside(by_nat) if "Ipv6AllowedForDualStack" in f["VpcConfig"]]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"database": {"url": "postgresql://sluice@10.0.0.7/sluice"}}, "no network is made"),
        ({"region": "cn-north-1"}, "not known here"),
    ],
    ids=["given", "china"],
)
def test_a_way_out_that_cannot_be_taken_is_refused(changes: dict[str, Any], problem: str) -> None:
    values = {
        "stage": "test",
        "region": "eu-central-1",
        "runtime": "python3.14",
        "cloud_api_url": "https://graph.facebook.com/v25.0",
        "database": {},
        "egress": "ipv6",
        "numbers": [
            {
                "phone_number_id": "106540352242922",
                "account_id": "1",
                "portfolio_id": "1",
                "messages_per_second": 80,
                "bucket": 0,
            }
        ],
    }
    with pytest.raises(ConfigError, match=problem):
        stage_of(values | changes)

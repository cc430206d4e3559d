"""What every function stands on: its code, its layers, its network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aws_cdk import Annotations, ArnFormat, Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.bundling import EXCLUDED, Code, runtime_of_host
from infra.endpoints import endpoint_variables
from infra.names import Names
from infra.stage import HOST_RUNTIME, Stage
from infra.stage_parts import GivenDatabase
from sluice import settings

DATABASE_NAME = "sluice"
DATABASE_USER = "sluice"
DATABASE_PORT = 5432
NETWORK_ZONES = 2
"""Aurora wants its subnets in two zones."""


@dataclass(frozen=True, kw_only=True)
class Database:
    """How functions reach Postgres: what they are told, and where they must stand."""

    variables: Mapping[str, str]
    vpc: ec2.IVpc | None = None
    security_groups: tuple[ec2.ISecurityGroup, ...] = ()
    connect: iam.PolicyStatement | None = None
    """Permission to sign in with an IAM token."""
    endpoints: Mapping[str, str] = field(default_factory=dict)
    """Variables of the SDK, where AWS is not reached by the usual addresses."""


@dataclass(frozen=True, kw_only=True)
class Foundation:
    """Given to every step of one stack."""

    stage: Stage
    names: Names
    code: Code
    runtime: lambda_.Runtime
    architecture: lambda_.Architecture
    layers: tuple[lambda_.ILayerVersion, ...]
    database: Database


def lay_foundation(stack: Stack, *, stage: Stage, code: Code, database: Database) -> Foundation:
    """The foundation of one stack; each stack has its own two layers, made of the same assets."""
    runtime, architecture = _runtime(stage)
    return Foundation(
        stage=stage,
        names=Names(stage.stage),
        code=code,
        runtime=runtime,
        architecture=architecture,
        layers=tuple(
            layer_of(stack, f"{name.capitalize()}Layer", folder, runtime, architecture)
            for name, folder in (("core", code.core), ("dependencies", code.dependencies))
        ),
        database=database,
    )


def layer_of(
    scope: Construct,
    construct_id: str,
    folder: Path,
    runtime: lambda_.Runtime,
    architecture: lambda_.Architecture,
) -> lambda_.LayerVersion:
    """A layer of what a folder holds."""
    return lambda_.LayerVersion(
        scope,
        construct_id,
        code=lambda_.Code.from_asset(str(folder), exclude=EXCLUDED),
        compatible_runtimes=[runtime],
        compatible_architectures=[architecture],
    )


def named_topic(stack: Stack, *, name: str) -> sns.ITopic:
    """A topic of another stack, by its name."""
    return sns.Topic.from_topic_arn(stack, name, stack.format_arn(service="sns", resource=name))


def database_of(stack: Stack, *, stage: Stage) -> Database:
    """The database as a stack other than the data stack knows it: by parameters."""
    if isinstance(stage.database, GivenDatabase):
        return Database(
            variables={settings.DATABASE_URL: stage.database.url, settings.DATABASE_IAM: "false"}
        )
    names = Names(stage.stage)

    def fact(what: str) -> str:
        return ssm.StringParameter.value_for_string_parameter(stack, names.database(what))

    group = ec2.SecurityGroup.from_security_group_id(
        stack, "DatabaseClients", fact("security-group"), mutable=False
    )
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        # Nothing reads it: functions are placed by subnet and security group.
        vpc_id="vpc-of-the-data-stack",
        availability_zones=[Fn.select(zone, Fn.get_azs()) for zone in range(NETWORK_ZONES)],
        private_subnet_ids=[fact(f"subnet-{zone}") for zone in range(NETWORK_ZONES)],
    )
    Annotations.of(vpc).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "Nothing here adds a route."
    )
    return Database(
        variables=aurora_variables(fact("host")),
        vpc=vpc,
        security_groups=(group,),
        connect=connect_statement(stack, fact("resource-id")),
        endpoints=endpoint_variables(stage.egress, region=stage.region),
    )


def aurora_variables(host: str) -> dict[str, str]:
    """What functions are told about a cluster of our own."""
    return {
        settings.DATABASE_URL: f"postgresql://{DATABASE_USER}@{host}:{DATABASE_PORT}/{DATABASE_NAME}",
        settings.DATABASE_IAM: "true",
    }


def connect_statement(stack: Stack, cluster_resource_id: str) -> iam.PolicyStatement:
    """Permission to sign in to one cluster, as our one user."""
    user = stack.format_arn(
        service="rds-db",
        resource="dbuser",
        resource_name=f"{cluster_resource_id}/{DATABASE_USER}",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    return iam.PolicyStatement(actions=["rds-db:connect"], resources=[user])


def _runtime(stage: Stage) -> tuple[lambda_.Runtime, lambda_.Architecture]:
    if stage.runtime == HOST_RUNTIME:
        # The local AWS ignores both and runs its own interpreter.
        name, architecture = runtime_of_host(), lambda_.Architecture.X86_64
    else:
        name, architecture = stage.runtime, lambda_.Architecture.ARM_64
    return lambda_.Runtime(name, lambda_.RuntimeFamily.PYTHON), architecture

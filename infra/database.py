"""The Aurora PostgreSQL cluster, and the one user that signs in with IAM."""

from typing import Final

from aws_cdk import Duration, RemovalPolicy, custom_resources
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from constructs import Construct

from infra.foundation import DATABASE_NAME, DATABASE_PORT, DATABASE_USER
from infra.network import Network
from infra.stage_parts import AuroraDatabase
from sluice.settings import DATABASE_LOG

ENGINE_VERSION: Final = rds.AuroraPostgresEngineVersion.VER_18_4
CREATE_USER: Final = f"""DO $$ BEGIN
IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{DATABASE_USER}') THEN
  CREATE ROLE {DATABASE_USER} LOGIN;
  GRANT {DATABASE_USER} TO CURRENT_USER;
  ALTER DATABASE {DATABASE_NAME} OWNER TO {DATABASE_USER};
  GRANT rds_iam TO {DATABASE_USER};
END IF;
END $$"""
"""One statement, as the Data API wants. The master user is a member of what it creates, so from
here on it too can only sign in with IAM: nobody holds a password to this database."""


class Cluster(Construct):
    """Aurora Serverless v2: encrypted, TLS only, IAM sign-in, backed up, hard to delete."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: AuroraDatabase, network: Network
    ) -> None:
        super().__init__(scope, construct_id)
        engine = rds.DatabaseClusterEngine.aurora_postgres(version=ENGINE_VERSION)
        fate = RemovalPolicy.RETAIN if config.deletion_protection else RemovalPolicy.DESTROY
        key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=fate)
        pause = config.auto_pause_seconds
        self.cluster = rds.DatabaseCluster(
            self,
            "Cluster",
            engine=engine,
            parameter_group=rds.ParameterGroup(
                self,
                "Parameters",
                engine=engine,
                parameters={"rds.force_ssl": "1", **DATABASE_LOG},
            ),
            writer=rds.ClusterInstance.serverless_v2("Writer"),
            readers=[
                rds.ClusterInstance.serverless_v2(f"Reader{reader}", scale_with_writer=True)
                for reader in range(config.readers)
            ],
            serverless_v2_min_capacity=config.capacity_min,
            serverless_v2_max_capacity=config.capacity_max,
            serverless_v2_auto_pause_duration=(None if pause is None else Duration.seconds(pause)),
            default_database_name=DATABASE_NAME,
            port=DATABASE_PORT,
            credentials=rds.Credentials.from_generated_secret("master", encryption_key=key),
            iam_authentication=True,
            enable_data_api=True,
            storage_encrypted=True,
            storage_encryption_key=key,
            backup=rds.BackupProps(retention=Duration.days(config.backup_days)),
            copy_tags_to_snapshot=True,
            cloudwatch_logs_exports=["postgresql"],
            deletion_protection=config.deletion_protection,
            removal_policy=fate,
            vpc=network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
        )
        self.cluster.connections.allow_default_port_from(network.clients, "Functions")
        self.user = _create_user(self, cluster=self.cluster, key=key)


def _create_user(
    scope: Construct, *, cluster: rds.DatabaseCluster, key: kms.Key
) -> custom_resources.AwsCustomResource:
    secret = cluster.secret
    assert secret is not None, "the credentials are generated"
    call = custom_resources.AwsSdkCall(
        service="rds-data",
        action="executeStatement",
        parameters={
            "resourceArn": cluster.cluster_arn,
            "secretArn": secret.secret_arn,
            "database": DATABASE_NAME,
            "sql": CREATE_USER,
        },
        physical_resource_id=custom_resources.PhysicalResourceId.of(DATABASE_USER),
    )
    statements = [
        iam.PolicyStatement(actions=["rds-data:ExecuteStatement"], resources=[cluster.cluster_arn]),
        iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue"], resources=[secret.secret_arn]
        ),
        iam.PolicyStatement(actions=["kms:Decrypt"], resources=[key.key_arn]),
    ]
    user = custom_resources.AwsCustomResource(
        scope,
        "User",
        on_create=call,
        policy=custom_resources.AwsCustomResourcePolicy.from_statements(statements),
        install_latest_aws_sdk=False,
    )
    # The cluster answers only when its writer is up.
    user.node.add_dependency(cluster)
    return user

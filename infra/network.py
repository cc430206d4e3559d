"""The network: the database where nothing gets out, functions where they reach AWS and Meta."""

from typing import Final

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from infra.foundation import NETWORK_ZONES
from infra.stage import Stage
from infra.stage_parts import AuroraDatabase

HTTPS_PORT: Final = 443


class Network(Construct):
    """A VPC. By NAT, or else dual-stack with IPv6 alone to the outside.

    The subnets have the same IPv4 addresses either way, so that a stage may change its mind.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        assert isinstance(stage.database, AuroraDatabase)
        by_ipv6 = stage.egress == "ipv6"
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=NETWORK_ZONES,
            nat_gateways=0 if by_ipv6 else stage.database.nat_gateways,
            ip_protocol=ec2.IpProtocol.DUAL_STACK if by_ipv6 else ec2.IpProtocol.IPV4_ONLY,
            restrict_default_security_group=False,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC),
                ec2.SubnetConfiguration(
                    name="egress", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS
                ),
                ec2.SubnetConfiguration(
                    name="isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
                ),
            ],
        )
        # Audiences come from S3: this way their bytes pass no NAT gateway.
        self.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        self.vpc.add_flow_log("Rejected", traffic_type=ec2.FlowLogTrafficType.REJECT)
        self.clients = ec2.SecurityGroup(
            self,
            "Clients",
            vpc=self.vpc,
            description="Functions that read rows",
            allow_all_ipv6_outbound=by_ipv6,
        )
        if by_ipv6:
            self._reach_parameters()

    def _reach_parameters(self) -> None:
        # In one zone, as one NAT gateway would be: each more costs as much again.
        zone = ec2.SubnetSelection(subnets=[self.vpc.isolated_subnets[0]])
        group = ec2.SecurityGroup(
            self, "Parameters", vpc=self.vpc, description="Systems Manager inside the network"
        )
        group.connections.allow_from(self.clients, ec2.Port.tcp(HTTPS_PORT))
        self.vpc.add_interface_endpoint(
            "Parameters",
            service=ec2.InterfaceVpcEndpointAwsService.SSM,
            subnets=zone,
            security_groups=[group],
            open=False,
        )

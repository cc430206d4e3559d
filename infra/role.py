"""The role of one function: what it may do stands in the role itself."""

from typing import Final

from aws_cdk import aws_iam as iam
from constructs import Construct

_MANAGED: Final = "service-role/AWSLambda{}ExecutionRole"


class OwnRole(iam.Role):
    """A role with one inline policy: one resource of a stack where the CDK makes two.

    Whatever is granted to the function is written there, by the CDK's own grants too.
    """

    def __init__(self, scope: Construct, construct_id: str, *, in_vpc: bool) -> None:
        self._permissions = iam.PolicyDocument()
        super().__init__(
            scope,
            construct_id,
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Permissions": self._permissions},
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name(
                    _MANAGED.format("VPCAccess" if in_vpc else "Basic")
                )
            ],
        )

    def add_to_principal_policy(
        self, statement: iam.PolicyStatement
    ) -> iam.AddToPrincipalPolicyResult:
        """Add a permission to the inline policy."""
        self._permissions.add_statements(statement)
        return iam.AddToPrincipalPolicyResult(statement_added=True, policy_dependable=self)

    def add_to_policy(self, statement: iam.PolicyStatement) -> bool:
        """Add a permission to the inline policy."""
        return self.add_to_principal_policy(statement).statement_added

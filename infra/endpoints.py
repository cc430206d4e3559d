"""Where functions inside the network find AWS."""

from collections.abc import Mapping
from typing import Final

from infra.stage import Egress

DUAL_STACK_SERVICES: Final = {
    "sqs": "SQS",
    "sns": "SNS",
    "secretsmanager": "SECRETS_MANAGER",
    "lambda": "LAMBDA",
    "scheduler": "SCHEDULER",
}
"""Whom functions in the network call and who answers by IPv6, as the SDK spells them in its
variables. S3 has a gateway, and Systems Manager, which has no such address, an endpoint."""


def endpoint_variables(egress: Egress, *, region: str) -> Mapping[str, str]:
    """Where the SDK finds AWS from inside the network.

    Named one by one: ``AWS_USE_DUALSTACK_ENDPOINT`` would send it to an address of Systems
    Manager that does not exist.
    """
    if egress == "nat":
        return {}
    return {
        f"AWS_ENDPOINT_URL_{spelling}": f"https://{name}.{region}.api.aws"
        for name, spelling in DUAL_STACK_SERVICES.items()
    }

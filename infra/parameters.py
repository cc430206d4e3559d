"""Permission to read parameters."""

from aws_cdk import ArnFormat, Stack

from infra.function import StepFunction


def allow_parameters(step: StepFunction, *, path: str) -> None:
    """Permission to read every parameter under a path.

    Who may read a path may read all that is below it, and SSM asks for the path alone.
    Source: AWS, Systems Manager, GetParametersByPath.
    """
    arn = Stack.of(step).format_arn(
        service="ssm",
        resource="parameter",
        resource_name=path.removeprefix("/"),
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )
    step.allow("ssm:GetParametersByPath", on=[arn])

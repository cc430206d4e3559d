"""Permission to read parameters."""

from aws_cdk import ArnFormat, Stack

from infra.function import StepFunction


def allow_parameters(step: StepFunction, *, path: str) -> None:
    """Permission to read every parameter under a path."""
    step.allow(
        "ssm:GetParametersByPath",
        on=[
            Stack.of(step).format_arn(
                service="ssm",
                resource="parameter",
                resource_name=path.removeprefix("/") + suffix,
                arn_format=ArnFormat.SLASH_RESOURCE_NAME,
            )
            for suffix in ("", "/*")
        ],
    )

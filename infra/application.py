"""From a stage's name to its validated templates."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from infra.bundling import ROOT, Code, code_of
from infra.config import CONFIG_DIRECTORY, load_stage
from infra.nag import acknowledge
from infra.sizes import size_problems
from infra.stacks import add_stacks
from infra.stage import HOST_RUNTIME, Stage
from infra.validators import validate

STAGE_DEFAULT = "example"


def new_app(output_directory: str) -> App:
    """An application that behaves as ``cdk.json`` says, whoever starts it."""
    configuration = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))
    return App(context=configuration["context"], outdir=output_directory, analytics_reporting=False)


def synthesise(*, environment: Mapping[str, str], output_directory: str) -> None:
    """Write the templates of the stage that context, else the environment, names."""
    app = new_app(output_directory)

    def told(key: str) -> str | None:
        return app.node.try_get_context(key) or environment.get(f"SLUICE_{key.upper()}")

    stage = load_stage(
        told("stage") or STAGE_DEFAULT,
        cloud_api_url=told("cloud_api_url"),
        database_url=told("database_url"),
        directory=Path(told("config_directory") or CONFIG_DIRECTORY),
    )
    templates_of(
        app,
        stage=stage,
        code=code_of(stage.runtime),
        account=environment.get("CDK_DEFAULT_ACCOUNT"),
    )


def templates_of(
    app: App, *, stage: Stage, code: Code, account: str | None = None
) -> dict[str, dict[str, Any]]:
    """The templates by stack name, in deployment order, after every check has passed."""
    stacks = add_stacks(app, stage=stage, code=code, account=account)
    if stage.runtime != HOST_RUNTIME:
        acknowledge(stacks, stage=stage)
        Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    assembly = app.synth()
    templates = {
        stack.stack_name: assembly.get_stack_by_name(stack.stack_name).template for stack in stacks
    }
    validate(templates, stage=stage, sizes=size_problems(code))
    return templates

"""What commands count from a stage's file is what its templates have."""

from pathlib import Path
from typing import Any

import pytest

from cli.preflight.needs import filter_policies, reserved_concurrency
from infra.application import new_app
from infra.config import load_stage
from infra.stacks import add_stacks
from tests.infra.test_template import code_in

Found = list[tuple[str, str, dict[str, Any]]]
STAGE = load_stage("example")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Every resource: its stack, its kind, its properties."""
    app = new_app(str(tmp_path_factory.mktemp("cdk")))
    code = code_in(tmp_path_factory.mktemp("code"))
    stacks = add_stacks(app, stage=STAGE, code=code, account=None)
    assembly = app.synth()
    templates = {
        stack.stack_name: assembly.get_stack_by_name(stack.stack_name).template for stack in stacks
    }
    return [
        (stack, resource["Type"], resource.get("Properties", {}))
        for stack, template in templates.items()
        for resource in template["Resources"].values()
    ]


def of_kind(found: Found, kind: str) -> list[dict[str, Any]]:
    return [properties for _, known, properties in found if known == kind]


def test_preflight_asks_for_what_the_templates_take(found: Found) -> None:
    reserved = sum(
        properties.get("ReservedConcurrentExecutions", 0)
        for properties in of_kind(found, "AWS::Lambda::Function")
    )
    policies = [
        properties
        for properties in of_kind(found, "AWS::SNS::Subscription")
        if "FilterPolicy" in properties
    ]

    assert reserved_concurrency(STAGE) == reserved
    assert filter_policies(STAGE) == len(policies)

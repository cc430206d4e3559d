"""cdk-nag's packs, and what we accept of their findings."""

import json
from typing import Any

import pytest

from infra.config import load_stage
from infra.nag import SERVERLESS, SOLUTIONS, Accepted, accepted
from infra.names import Names
from tests.infra.example import Example

STAGE = load_stage("example")
ACCEPTED = accepted(Names(STAGE.stage), region=STAGE.region)


@pytest.fixture(scope="module")
def reports(example: Example) -> dict[str, Any]:
    """By pack."""
    report = json.loads((example.assembly / "validation-report.json").read_text(encoding="utf-8"))
    return {one["pluginName"]: one for one in report["pluginReports"]}


@pytest.mark.parametrize("pack", [SOLUTIONS, SERVERLESS])
def test_a_pack_finds_nothing_that_we_do_not_accept(reports: dict[str, Any], pack: str) -> None:
    assert reports[pack]["conclusion"] == "success"
    assert not reports[pack]["violations"]
    assert reports[pack]["suppressedViolations"]


@pytest.mark.parametrize("one", ACCEPTED, ids=lambda one: f"{one.path}-{one.rule}")
def test_what_we_accept_is_still_found(reports: dict[str, Any], one: Accepted) -> None:
    assert any(
        found["acknowledgedId"] == one.id and one.is_at(found["acknowledgedAt"])
        for found in reports[one.pack]["suppressedViolations"]
    )


@pytest.mark.parametrize("one", ACCEPTED, ids=lambda one: f"{one.path}-{one.rule}")
def test_what_we_accept_has_a_reason(one: Accepted) -> None:
    assert len(one.reason.split()) > 4

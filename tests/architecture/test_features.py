"""The documents name only tests that exist."""

import re
from pathlib import Path

import pytest

from local.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
DEFINED = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
}


@pytest.mark.parametrize(
    "page",
    ["docs/features.md", "docs/architecture.md", "docs/field-reports.md", "SECURITY.md"],
)
def test_a_page_names_only_tests_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))

    assert len(named) > 15
    assert named <= DEFINED, sorted(named - DEFINED)


def test_every_section_of_the_features_names_scenarios_or_why_there_is_none():
    text = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^\| \*\*(.+)\*\* \| (.*)\|$", text, re.MULTILINE))
    named = {name: set(re.findall(r"`([\w-]+)`", cell)) for name, cell in sections.items()}

    assert len(sections) >= 20
    assert [
        name for name, cell in sections.items()
        if not named[name] and not cell.startswith("no scenario: ")
    ] == []  # fmt: skip
    assert set().union(*named.values()) == set(SCENARIOS)


def test_every_scenario_is_told_and_no_other():
    text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE) == list(SCENARIOS)


def test_every_line_of_the_field_reports_names_a_test():
    text = (ROOT / "docs" / "field-reports.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"\| \d", line)]

    assert len(lines) == 25
    assert [line for line in lines if not re.search(r"`test_\w+`", line)] == []

"""The runbook has a section for each alarm, with the command to run, and no other."""

import re
from pathlib import Path

import pytest

from infra.observability.questions import SENDING, SHARED
from infra.observability.table import DATABASE_AWAY, TABLE

TEXT = (Path(__file__).parents[2] / "docs" / "runbook.md").read_text(encoding="utf-8")
ALARMS = TEXT.partition("\n## Alarms\n")[2].partition("\n## ")[0]
SECTIONS = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", ALARMS, re.DOTALL | re.MULTILINE))
QUESTIONS = {question.name for question in (*SENDING, *SHARED)}


def test_every_kind_of_alarm_has_a_section_and_every_section_an_alarm():
    assert set(SECTIONS) == {row.name for row in TABLE} | {DATABASE_AWAY}


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_a_section_says_what_it_means_how_to_look_what_to_run_what_to_do_and_how_it_ends(name):
    text = SECTIONS[name]

    for part in ("**Meaning.**", "**Look.**", "**Act.**", "**Ends.**"):
        assert text.count(part) == 1, part
    commands = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert any(command.strip() for command in commands)


def test_every_saved_question_is_in_the_runbook_and_it_asks_no_other():
    listed = set(re.findall(r'^- "([^"]+)" \(log of ', TEXT, re.MULTILINE))
    asked = set(re.findall(r'insights "([^"<]+)"', TEXT))

    assert listed == QUESTIONS
    assert asked <= QUESTIONS
    assert len(asked) >= 12


def test_links_within_the_runbook_lead_somewhere():
    headings = re.findall(r"^#{2,3} (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}

    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= anchors

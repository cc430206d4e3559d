"""What may be published, and what is said about the rest."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from local.schemas import KINDS, schema_file, schema_text
from sluice.domain.problems import Problem
from sluice.domain.requests import (
    CampaignRequest,
    Request,
    parse,
    request_hash,
)

ROOT = Path(__file__).parents[3]
ADA = {"address": "+12025550101", "parameters": {"name": "Ada"}}
TEMPLATE = {
    "name": "hello",
    "language": "en_US",
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "{{name}}"}]}],
}
CAMPAIGN = {
    "campaign": "hello-2026-12",
    "template": TEMPLATE,
    "numbers": ["106540352242922"],
    "audience": {"recipients": [ADA]},
}
SEND = {
    "id": "hello-1",
    "phone_number_id": "106540352242922",
    "recipients": [ADA],
    "template": TEMPLATE,
}


def parsed(kind: str, document: dict[str, Any], **attributes: str) -> Request:
    request = parse(json.dumps(document), {"kind": kind, **attributes})
    assert not isinstance(request, list), [str(problem) for problem in request]
    return request


def refused(kind: str, document: Any, **attributes: str) -> list[str]:
    problems = parse(json.dumps(document), {"kind": kind, **attributes})
    assert isinstance(problems, list)
    return [str(problem) for problem in problems]


def samples(folder: str, file: str) -> list[tuple[str, dict[str, str]]]:
    event = json.loads((ROOT / "events" / folder / file).read_text(encoding="utf-8"))
    return [
        (
            record["body"],
            {name: value["stringValue"] for name, value in record["messageAttributes"].items()},
        )
        for record in event["Records"]
    ]


@pytest.mark.parametrize(
    "body", ["", "[]", "null", "5", "{", "\ud800", '{"a": NaN}', '{"a":1e999}']
)
def test_what_is_no_json_object_is_said_to_be_none(body: str) -> None:
    assert parse(body, {"kind": "campaign"}) == [Problem("", "is not a JSON object")]


def test_bytes_that_are_no_text_are_no_json_object() -> None:
    assert parse(b"\xff{}", {"kind": "campaign"}) == [Problem("", "is not a JSON object")]


def test_a_nul_character_is_refused_before_the_database_refuses_it() -> None:
    (problem,) = refused("campaign", CAMPAIGN | {"campaign": "a\x00"})
    assert "NUL" in problem


@pytest.mark.parametrize("attributes", [{}, {"kind": "celebrate"}, {"kind": ""}])
def test_a_message_of_no_kind_is_refused(attributes: dict[str, str]) -> None:
    assert parse("{}", attributes) == [Problem("kind", f"is none of {', '.join(KINDS)}")]


def test_the_kind_of_the_body_counts_where_no_attribute_says_it() -> None:
    assert isinstance(parse(json.dumps(CAMPAIGN | {"kind": "campaign"}), {}), CampaignRequest)


@pytest.mark.parametrize(
    ("kind", "document", "attributes", "path"),
    [
        ("command", CAMPAIGN | {"kind": "campaign"}, {}, "kind"),
        ("send", SEND, {"phone_number_id": "5"}, "phone_number_id"),
        ("send", SEND, {"lane": "bulk"}, "lane"),
    ],
)
def test_attributes_that_contradict_the_body_are_refused(
    kind: str, document: dict[str, Any], attributes: dict[str, str], path: str
) -> None:
    paths = [problem.partition(":")[0] for problem in refused(kind, document, **attributes)]
    assert path in paths


def test_a_problem_never_repeats_what_was_sent() -> None:
    audience = {"recipients": [{"address": ["+12025550101"], "parameters": {"name": 4711}}]}
    told = " ".join(refused("campaign", CAMPAIGN | {"audience": audience}))
    assert "2025550101" not in told
    assert "4711" not in told


def test_the_same_meaning_has_the_same_hash() -> None:
    other_words = dict(reversed(CAMPAIGN.items())) | {
        "kind": "campaign",
        "max_attempts": 5,
        "start_at": "2026-12-01T08:00:00+01:00",
    }
    same = CAMPAIGN | {"start_at": "2026-12-01T07:00:00Z"}
    assert request_hash(parsed("campaign", other_words)) == request_hash(parsed("campaign", same))


@pytest.mark.parametrize("change", [{"numbers": ["5"]}, {"max_attempts": 4}, {"campaign": "b"}])
def test_another_content_has_another_hash(change: dict[str, Any]) -> None:
    assert request_hash(parsed("campaign", CAMPAIGN)) != request_hash(
        parsed("campaign", CAMPAIGN | change)
    )


PAGE = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_the_examples_of_the_page_may_be_published(example: str) -> None:
    assert not isinstance(parse(example, {}), list)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_in_the_docs_is_that_of_the_model(kind: str) -> None:
    assert schema_file(kind).read_text(encoding="utf-8") == schema_text(kind), (
        "write it again: make schemas"
    )


INVALID = {
    "campaign": {
        "invalid_json.json",
        "invalid_suppressions.json",
        "invalid_fields.json",
        "expired_before_start.json",
        "mismatched_attributes.json",
        "unknown_kind.json",
        "cancel_number.json",
    },
    "send": {"invalid_chunk.json", "poison_among_good.json"},
    "export": {"invalid_fields.json"},
}
FILES = [
    (folder, path.name)
    for folder in INVALID
    for path in sorted((ROOT / "events" / folder).iterdir())
]


@pytest.mark.parametrize(("folder", "file"), FILES)
def test_a_sample_is_refused_where_its_name_says_so(folder: str, file: str) -> None:
    answers = [parse(body, attributes) for body, attributes in samples(folder, file)]
    assert any(isinstance(answer, list) for answer in answers) == (file in INVALID[folder])

"""Whatever is published is a request or a list of problems."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.problems import Problem
from sluice.domain.requests import Chunk, parse, request_hash

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["campaign", "send", "command", "export", "erase"]) | ANY_TEXT,
        "phone_number_id": ANY_TEXT,
        "lane": ANY_TEXT,
    },
)
FIELDS = st.sampled_from(
    [
        "kind",
        "campaign",
        "template",
        "numbers",
        "audience",
        "start_at",
        "expires_at",
        "campaign_id",
        "seqs",
        "action",
        "message",
        "recipients",
        "to",
        "formats",
        "columns",
    ]
)
RECIPIENT = st.fixed_dictionaries({"address": ANY_TEXT}, optional={"parameters": JSON})
NEARLY_RIGHT = st.fixed_dictionaries(
    {
        "campaign": st.just("a") | ANY_TEXT,
        "template": st.fixed_dictionaries(
            {"name": st.just("hello"), "language": st.just("en")}, optional={"components": JSON}
        ),
        "numbers": st.lists(st.from_regex(r"[0-9]{1,5}", fullmatch=True), max_size=3) | JSON,
        "audience": st.fixed_dictionaries({"recipients": st.lists(RECIPIENT, max_size=3)}) | JSON,
    },
    optional={"start_at": st.datetimes().map(str) | JSON, "max_attempts": st.integers()},
)


def is_an_answer(answer: object) -> bool:
    if isinstance(answer, list):
        return bool(answer) and all(isinstance(problem, Problem) for problem in answer)
    return len(request_hash(answer)) == 64  # type: ignore[arg-type]


@given(st.binary() | ANY_TEXT, ATTRIBUTES)
def test_no_body_raises(body: bytes | str, attributes: dict[str, str]) -> None:
    assert is_an_answer(parse(body, attributes))


@given(st.dictionaries(FIELDS, JSON) | NEARLY_RIGHT, ATTRIBUTES)
def test_no_json_raises(document: dict[str, Any], attributes: dict[str, str]) -> None:
    assert is_an_answer(parse(json.dumps(document), attributes))


@given(NEARLY_RIGHT)
def test_a_request_that_is_taken_can_be_written_and_taken_again(document: dict[str, Any]) -> None:
    request = parse(json.dumps(document), {"kind": "campaign"})
    if not isinstance(request, list):
        assert parse(request.model_dump_json(), {"kind": "campaign"}) == request


@given(st.integers(0, 2**31 - 1), st.sets(st.integers(0, 2**31 - 1), min_size=1, max_size=25))
def test_a_chunk_comes_back_as_it_went_out(campaign_id: int, seqs: set[int]) -> None:
    chunk = Chunk(campaign_id=campaign_id, seqs=tuple(sorted(seqs)))
    assert parse(chunk.model_dump_json(), {"kind": "send"}) == chunk

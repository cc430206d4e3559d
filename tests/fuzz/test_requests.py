"""Requests of every kind, from samples that are right: an answer, and no word of theirs in it."""

import json
import time

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from hypothesis import given
from hypothesis import strategies as st

from sluice.adapters.events import received_of
from sluice.domain.audit import subject_of
from sluice.domain.notification import published_of
from sluice.domain.problems import Problem
from sluice.domain.requests import parse, request_hash
from tests.fuzz.shapes import ANY_TEXT, JSON, NASTY, bodies, changed, paths_in
from tests.integration.functions.ports import event_of

KINDS = ("approve", "campaign", "command", "erase", "export", "schedule", "send")
SAMPLES = [one for one in bodies(*KINDS) if isinstance(one, dict)]
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(
            [
                "campaign",
                "send",
                "command",
                "export",
                "erase",
                "schedule",
                "suppressions",
                "audience",
            ]
        )
        | ANY_TEXT,
        "phone_number_id": ANY_TEXT | st.just("106540352242922"),
        "lane": ANY_TEXT | st.just("bulk"),
        "by": ANY_TEXT,
    },
)
MARK = "Grace.Hopper"
"""Like nothing that a request has of itself."""


@given(changed(SAMPLES), ATTRIBUTES)
def test_a_sample_with_changes_is_a_request_or_problems(document, attributes):
    answer = parse(json.dumps(document), attributes)

    if isinstance(answer, list):
        assert answer
        assert all(isinstance(one, Problem) for one in answer)
        assert all(str(one).isprintable() for one in answer)
        return
    assert len(request_hash(answer)) == 64
    again = parse(answer.model_dump_json(), {"kind": answer.kind})
    assert again == answer


@given(st.sampled_from(SAMPLES), st.data())
def test_no_problem_repeats_a_value(document, data):
    path = data.draw(st.sampled_from(paths_in(document)[1:]))
    marked = json.loads(json.dumps(document))
    place = marked
    for key in path[:-1]:
        place = place[key]
    if data.draw(st.booleans()) or not isinstance(place, dict):
        place[path[-1]] = data.draw(st.sampled_from([f"+{MARK}", [MARK], {"x": MARK}]))
    else:
        place[f"+{MARK} 5"] = 1

    answer = parse(json.dumps(marked), {"kind": str(document.get("kind", "campaign"))})

    assert not isinstance(answer, list) or MARK not in " ".join(map(str, answer))


@given(JSON | changed(SAMPLES), st.dictionaries(ANY_TEXT | NASTY, ANY_TEXT, max_size=3))
def test_whatever_a_queue_brings_is_read(document, attributes):
    body = json.dumps(document)
    envelope = json.dumps({
        "Type": "Notification", "TopicArn": "t", "MessageId": "m", "Message": body,
        "Timestamp": document if isinstance(document, str) else "2026-03-01T09:00:00Z",
        "MessageAttributes": {name: {"Value": value} for name, value in attributes.items()},
    })  # fmt: skip
    for text in (body, envelope):
        published = published_of(text, attributes)
        assert isinstance(published.body, str)
        (record,) = event_of(text, **{k: v for k, v in attributes.items() if k})["Records"]
        received = received_of(SQSRecord(record))
        subject_of(received.body, received.attributes.get("kind"))


def test_a_hundred_thousand_levels_are_refused_in_no_time():
    started = time.process_time()
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        deep = opening * 100_000 + "1" + closing * 100_000
        for body in (deep, f'{{"kind": "campaign", "template": {deep}}}'):
            assert isinstance(parse(body, {"kind": "campaign"}), list)
    assert time.process_time() - started < 2.0

"""send.handle on real Postgres, with a Cloud API that accepts everything."""

import json
from types import SimpleNamespace

import pytest

from functions.send.handler import handle
from sluice.adapters.postgres.claims import Claims
from sluice.domain.lanes import SlotPace
from sluice.domain.outcomes import Unknown
from sluice.domain.pairs import Pairs
from tests.conftest import NUMBER
from tests.integration.functions.ports import CloudApi, Telemetry, event_of, failed, parked, samples

SENT = {
    "another_number": 0,
    "chunk": 24,
    "chunks": 30,
    "duplicate_chunk": 24,
    "free_form": 1,
    "invalid_chunk": 0,
    "poison_among_good": 25,
    "template": 1,
}
"""Of a campaign with lines 1 to 30, so that the position 0 of the samples is nobody's."""


@pytest.fixture
def send(world, aws, clock):
    telemetry, api = Telemetry(), CloudApi(clock)
    world.claims = Claims(world.database, phone_number_id=NUMBER, lane="conversation")

    def run(event, *, seconds=60.0):
        return handle(
            event,
            phone_number_id=NUMBER,
            pace=SlotPace("conversation", 2, 40.0, 40.0),
            entered_at=clock.monotonic(),
            deadline=clock.monotonic() + seconds,
            claims=world.claims,
            campaigns=world.campaigns,
            stops=world.stops,
            cloud_api=api,
            parking=aws.parking(),
            telemetry=telemetry,
            clock=clock,
            pairs=Pairs(),
            dice=lambda: 0.5,
        )

    return SimpleNamespace(run=run, api=api, telemetry=telemetry)


@pytest.fixture
def queued(world):
    """The campaign that the samples point to, with everybody in it queued."""
    campaign_id = world.campaign(30)
    world.queue(campaign_id)
    assert campaign_id == 1
    return campaign_id


def body_of(load_event, sample, **changes):
    return json.loads(load_event(f"send/{sample}")["Records"][0]["body"]) | changes


def direct(body, **attributes):
    return event_of(body, kind="send", phone_number_id=NUMBER, lane="conversation", **attributes)


@pytest.mark.usefixtures("queued")
@pytest.mark.parametrize("sample", samples("send"))
def test_a_sample_sends_what_can_be_sent_once(send, world, aws, load_event, sample):
    answer = send.run(load_event(f"send/{sample}"))

    assert not failed(answer)
    assert len(send.api.bodies) == SENT[sample]
    assert len({body["biz_opaque_callback_data"] for body in send.api.bodies}) == SENT[sample]
    assert len(parked(aws)) == (sample in {"another_number", "invalid_chunk", "poison_among_good"})
    assert world.counters_equal_rows()


@pytest.mark.parametrize("sample", samples("send"))
def test_a_sample_that_comes_again_sends_nothing_again(send, queued, load_event, sample):
    for _ in range(2):
        send.run(load_event(f"send/{sample}"))

    assert queued == 1
    assert len(send.api.bodies) == SENT[sample]


def test_a_chunk_is_rendered_for_each_person_with_our_id(send, queued, load_event):
    send.run(load_event("send/chunk"))

    body = send.api.bodies[0]
    assert body["to"] == "+4915155000001"
    assert body["biz_opaque_callback_data"] == f"{queued}:1:1"
    parameters = body["template"]["components"][0]["parameters"]
    assert parameters == [{"type": "text", "text": "Person 1"}]


def test_a_direct_template_is_stored_and_sent(send, world, load_event):
    send.run(load_event("send/template"))

    (body,) = send.api.bodies
    assert body["to"] == "+12025550101"
    assert [part["text"] for part in body["template"]["components"][0]["parameters"]] == [
        "Ada",
        "City Clinic",
        "2026-12-07",
    ]
    assert world.database.fetch("SELECT id FROM direct_send") == [("appointment-4711",)]
    assert world.states(1) == {"done": 1}


def test_a_direct_free_form_message_goes_out_as_it_was_given(send, load_event):
    send.run(load_event("send/free_form"))

    (body,) = send.api.bodies
    assert body["type"] == "text"
    assert body["text"] == {"body": "Your appointment is on Monday at nine."}
    assert "template" not in body


def test_a_used_id_with_another_content_is_parked_and_not_sent(send, aws, load_event):
    send.run(load_event("send/free_form"))
    other = {"type": "text", "text": {"body": "Something else."}}

    answer = send.run(direct(body_of(load_event, "free_form", message=other)))

    (envelope,) = parked(aws)
    assert not failed(answer)
    assert envelope["reasons"] == ["id: was used before, for another content"]
    assert len(send.api.bodies) == 1


def test_a_message_for_another_number_is_parked_with_its_attributes(send, aws, load_event):
    send.run(load_event("send/another_number"))

    (envelope,) = parked(aws)
    assert envelope["reasons"] == ["phone_number_id: is not the number of this queue"]
    assert envelope["step"] == "send"
    assert envelope["attributes"]["phone_number_id"] == "106540352242923"
    assert envelope["body"] == load_event("send/another_number")["Records"][0]["body"]


def test_a_direct_send_with_one_bad_person_sends_to_nobody(send, world, aws, load_event):
    people = [
        {"address": "+12025550101", "parameters": {"name": "A", "clinic": "B", "date": "C"}},
        {"address": "0123", "parameters": {}},
        {"address": "+447700900102", "parameters": {"name": "A", "clinic": " ", "date": "C"}},
    ]

    send.run(direct(body_of(load_event, "template", recipients=people)))

    (envelope,) = parked(aws)
    assert [reason.partition(":")[0] for reason in envelope["reasons"]] == [
        "recipients.1.address",
        "recipients.2.parameters.clinic",
    ]
    assert send.api.bodies == []
    assert world.database.fetch("SELECT count(*) FROM direct_send") == [(0,)]


def test_a_campaign_in_the_queue_of_a_number_is_parked(send, aws, load_event):
    send.run(load_event("campaign/inline"))

    assert parked(aws)[0]["reasons"] == ["kind: only send belongs into this queue"]


@pytest.mark.usefixtures("queued")
def test_poison_among_good_ones_is_parked_and_the_good_ones_are_sent(send, aws, load_event):
    answer = send.run(load_event("send/poison_among_good"))

    (envelope,) = parked(aws)
    assert not failed(answer)
    assert envelope["body"] == "not JSON"
    assert send.telemetry.counts()["Accepted"] == 25
    assert send.telemetry.counts()["Parked"] == 1


@pytest.mark.parametrize(
    "body",
    [
        '{"kind": "send", "id": "a", "recipients": [{"address": "\\ud800"}]}',
        '{"kind": "send", "campaign_id": 1, "seqs": [1], "x": "\\u0000"}',
        '{"kind": "send", "campaign_id": 99999999999, "seqs": [1]}',
        "[" * 100_000,
        "",
    ],
    ids=["half_a_pair", "nul", "no_integer_of_the_database", "nested", "empty"],
)
@pytest.mark.usefixtures("queued")
def test_no_poison_keeps_a_chunk_from_being_sent(send, aws, load_event, body):
    chunk = load_event("send/chunk")["Records"][0]["body"]

    answer = send.run(event_of(body, chunk, kind="send"))

    assert not failed(answer)
    assert len(parked(aws)) == 1
    assert len(send.api.bodies) == 24


def test_a_chunk_that_is_not_finished_before_the_deadline_comes_again_or_is_handed_back(
    send, world, queued, load_event
):
    answer = send.run(load_event("send/chunks"), seconds=15.0)

    states = world.states(queued)
    assert len(send.api.bodies) == states.get("done", 0)
    assert states.get("pending", 0) + states.get("done", 0) + states.get("queued", 0) == 30
    assert len(failed(answer)) <= 2


@pytest.mark.usefixtures("queued")
def test_the_report_counts_outcomes_and_codes_and_names_the_number(send, load_event):
    def take(**_):
        taken, send.api.done = send.api.done, []
        return [
            (name, Unknown("read timeout") if name.key.seq % 2 else outcome)
            for name, outcome in taken
        ]

    send.api.take = take

    send.run(load_event("send/chunk"))

    (_, told) = send.telemetry.reports[-1]
    assert (told["counts"]["Unknown"], told["counts"]["Accepted"]) == (12, 12)
    assert told["dimensions"] == {"phone_number_id": NUMBER, "lane": "conversation"}
    assert set(told["seconds"]) == {"PacedTime", "SlotTime"}


def test_a_database_that_fails_is_reported_and_the_messages_come_again(
    send, world, queued, load_event
):
    class Away:
        def __getattr__(self, name):
            return getattr(original, name)

        def claim(self, *_args, **_kwargs):
            raise ConnectionError("the database is away")

    original, world.claims = world.claims, Away()
    event = load_event("send/chunks")

    answer = send.run(event)

    assert failed(answer) == [record["messageId"] for record in event["Records"]]
    assert isinstance(send.telemetry.failures[0], ConnectionError)
    assert send.telemetry.counts()["SendersEndedEarly"] == 1
    assert world.states(queued) == {"queued": 30}


def test_a_request_that_could_not_even_begin_leaves_its_row_to_be_sent(
    send, world, queued, load_event
):
    def start(*_args, **_kwargs):
        raise RuntimeError("the secret has no access_token")

    send.api.start = start

    send.run(load_event("send/chunk"))

    assert isinstance(send.telemetry.failures[0], RuntimeError)
    assert set(world.states(queued)) <= {"pending", "queued"}, "nothing left, nothing is in doubt"

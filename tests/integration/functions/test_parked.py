"""Parked messages: told by the report, returned or discarded by an order, on real queues."""

import json
import time
from types import SimpleNamespace

import pytest

from functions.command.handler import handle
from functions.report.handler import handle as handle_report
from sluice.adapters.events import Inbox
from sluice.adapters.parked import ParkedMessages, Returns
from sluice.adapters.prices import read_prices
from sluice.adapters.queues import Route
from sluice.domain.letter import Letter, Message
from tests.integration.functions.ports import Audit, Telemetry, Waker, event_of, failed, reasons

SEND = {"kind": "send", "phone_number_id": "106540352242922", "lane": "bulk"}


@pytest.fixture
def park(aws):
    """Park a message as a step would; returns its id."""

    def park(body="{}", *, step="send", reasons=("why",), attributes=None):
        attributes = SEND if attributes is None else attributes
        aws.parking().park(step=step, reasons=reasons, body=body, attributes=attributes)
        return json.loads(aws.stored("parked")[-1].body)["id"]

    return park


@pytest.fixture
def command(aws, clock, requests_topic):
    """``run(event)`` handles orders that were really received, and that need no database."""
    telemetry, audit = Telemetry(), Audit()
    returns = Returns(
        topic=requests_topic, statuses=aws.queue("statuses.fifo"), signals=aws.queue("signals")
    )

    def run(event, *, receives=1, parked=None):
        return handle(
            aws.receive("command", event, receives=receives),
            orders=None,
            audit=audit,
            campaigns=None,
            media=None,
            resends=None,
            approval_above=None,
            topic=requests_topic,
            parked=parked or aws.parked_messages(),
            returns=returns,
            inbox=Inbox("command", aws.queue("command"), aws.parking(), Waker(), telemetry, audit),
            clock=clock,
            deadline=clock.monotonic() + 60,
        )

    return SimpleNamespace(run=run, telemetry=telemetry, audit=audit)


@pytest.fixture
def told(aws, clock):
    """The answer of the report."""

    def told(wanted=True):  # noqa: FBT002 - as it is asked
        return handle_report(
            {"parked": wanted},
            reports=None,
            resends=None,
            messages=aws.parked_messages(),
            prices=read_prices,
            clock=clock,
        )

    return told


def order(action="return", parked="all", **more):
    """An order that SQS says was sent an hour from now."""
    event = event_of({"kind": "command", "action": action, "parked": parked, **more})
    return sent(event, seconds=3600)


def sent(event, *, seconds):
    """The same order, sent so many seconds from now by the clock of the queues."""
    event["Records"][0]["attributes"]["SentTimestamp"] = str(milliseconds(seconds))
    return event


def milliseconds(seconds):
    return int(1_000 * (time.time() + seconds))


def test_the_report_tells_parked_messages_and_leaves_them(told, park, aws):
    name = park('{"id": "appointment-4711"}', reasons=["recipients: is empty"])

    answer = told()

    (one,) = answer["parked"]
    assert (one["id"], one["step"], one["reasons"]) == (name, "send", ["recipients: is empty"])
    assert (one["body"], one["attributes"]) == ('{"id": "appointment-4711"}', SEND)
    assert (one["truncated"], one["cannot_return"]) == (False, None)
    assert one["parked_at"] is not None
    assert answer["approximate_count"] == 1
    assert aws.count("parked") == 1, "visible at once"


def test_the_report_tells_the_oldest_first(told, park, aws):
    for place in range(12):
        park(f'"{place}"')
    for place, message in enumerate(reversed(aws.stored("parked"))):
        message.sent_timestamp = milliseconds(place - 100)

    bodies = [one["body"] for one in told()["parked"]]

    assert bodies == [f'"{place}"' for place in reversed(range(12))]


def test_a_list_has_excerpts_and_one_message_is_told_whole(told, park):
    name = park("x" * 5_000)

    assert len(told()["parked"][0]["body"]) == 2_000
    assert told()["parked"][0]["body_characters"] == 5_000
    (one,) = told(name)["parked"]
    assert one["body"] == "x" * 5_000
    assert told("no-such-id")["parked"] == []


def test_a_message_that_somebody_else_put_there_is_told_as_it_is(told, aws):
    aws.queue("parked").send([Message("by hand")])

    (one,) = told()["parked"]

    assert (one["body"], one["step"]) == ("by hand", "")
    assert one["cannot_return"] == "nobody knows where it belongs"


def test_the_same_message_parked_again_has_the_same_id(park):
    again = {**SEND, "redrives": "5"}

    assert park("body") == park("body", step="send-1-bulk", reasons=["x"], attributes=again)
    assert park("body") != park("another")


def test_a_request_returns_to_the_topic_with_its_attributes(command, park, aws):
    park("body", step="send-106540352242922-bulk", attributes={**SEND, "redrives": "5"})

    command.run(order())

    (letter,) = aws.letters("published")
    assert (letter.body, letter.attributes) == ("body", SEND)
    assert aws.count("parked") == aws.count("parked", "NotVisible") == 0
    assert command.telemetry.counts()["ParkedReturned"] == 1


def test_statuses_and_signals_return_to_their_queues(command, park, aws):
    for step in ("status", "statuses", "signal", "signals"):
        park(f"of {step}", step=step, attributes={})

    command.run(order())

    assert sorted(aws.bodies("statuses.fifo")) == ["of status", "of statuses"]
    assert sorted(aws.bodies("signals")) == ["of signal", "of signals"]
    assert aws.bodies("published") == []


def test_a_status_that_returns_within_five_minutes_is_not_taken_for_a_duplicate(command, park, aws):
    for _ in range(2):
        park("body", step="status", attributes={})
        command.run(order())
        assert aws.bodies("statuses.fifo") == ["body"]


def test_one_message_returns_by_its_id_and_the_others_stay(command, park, aws):
    name = park("wanted")
    park("another")

    command.run(order(parked=name))

    assert aws.bodies("published") == ["wanted"]
    assert aws.count("parked") == 1, "and visible at once"


def test_only_messages_of_the_step_return(command, park, aws):
    park("campaign", step="campaign", attributes={"kind": "campaign"})
    park("send")
    park("send of redrive", step="send-1-bulk")

    command.run(order(step="send"))

    assert sorted(aws.bodies("published")) == ["send", "send of redrive"]
    assert aws.count("parked") == 1


def test_a_message_that_was_parked_twice_returns_once(command, park, aws):
    park("body")
    park("body")

    command.run(order())

    assert aws.bodies("published") == ["body"]
    assert aws.count("parked") == 0


def test_discarded_messages_go_nowhere(command, park, aws):
    name = park("body")
    park("another")

    command.run(order("discard", name))

    assert aws.bodies("published") == []
    assert [json.loads(body)["body"] for body in aws.bodies("parked")] == ["another"]
    assert command.telemetry.counts()["ParkedDiscarded"] == 1


def test_a_message_that_was_cut_is_kept_and_the_order_says_why(command, park, aws):
    name = park("x" * 30_000)

    command.run(order(parked=name))

    assert aws.bodies("published") == []
    kept, refused = (json.loads(body) for body in aws.bodies("parked"))
    assert kept["truncated"]
    assert refused["reasons"] == [f"parked {name}: it was cut: publish it again from your own copy"]


def test_of_all_those_that_cannot_return_are_counted_by_reason(command, park, aws):
    park("x" * 30_000)
    park("no kind", attributes={"lane": "bulk"})
    park("good")

    command.run(order())

    assert aws.bodies("published") == ["good"]
    assert aws.count("parked") == 2
    (facts,) = command.telemetry.facts("facts")
    assert facts["refused"] == {
        "it was cut: publish it again from your own copy": 1,
        "it has no message attribute kind": 1,
    }
    assert command.telemetry.counts()["ParkedRefused"] == 2


def test_a_cut_message_can_be_discarded(command, park, aws):
    command.run(order("discard", park("x" * 30_000)))

    assert aws.count("parked") == 0


def test_what_is_parked_after_the_order_waits_for_another(command, park, aws):
    park("later")

    command.run(sent(order(), seconds=-60))

    assert aws.bodies("published") == []
    assert aws.count("parked") == 1


def test_killed_before_the_message_is_deleted_it_is_there_twice(command, park, aws):
    park("body")

    class Mortal(ParkedMessages):
        def delete(self, parked):
            raise SystemExit("killed")

    with pytest.raises(SystemExit):
        command.run(order(), parked=aws.parked_messages(Mortal))

    assert aws.bodies("published") == ["body"]
    assert aws.count("parked", "NotVisible") == 1


def test_thousands_take_several_runs_of_one_order(command, park, aws, clock):
    for place in range(45):
        park(f'"{place}"')

    class Slow(ParkedMessages):
        def take(self, **hidden):
            clock.advance(20)
            return super().take(**hidden)

    slow = aws.parked_messages(Slow)
    event, runs = order(), []
    while not runs or failed(runs[-1]):
        runs.append(command.run(event, parked=slow))

    assert len(runs) == 2
    assert len(aws.bodies("published")) == 45
    assert command.telemetry.counts()["ParkedReturned"] == 45


@pytest.mark.parametrize("receives", [1, 4, 5])
def test_an_id_that_is_not_there_is_refused_after_a_minute(command, aws, receives):
    answer = command.run(order(parked="no-such-id"), receives=receives)

    if receives < 5:
        assert failed(answer)
    else:
        assert reasons(aws) == ["there is no parked message no-such-id"]


def test_nothing_parked_is_nothing_to_return(command):
    assert not failed(command.run(order()))
    assert command.telemetry.counts() == {"CommandMessages": 1}


def test_no_body_is_ever_logged(command, park):
    park("+12025550101 secret")

    command.run(order())
    command.run(order("discard"))

    assert "secret" not in repr(command.telemetry.reports)


def test_what_redrive_parks_can_be_returned(command, aws):
    route = Route(
        name="send-1-bulk",
        queue=aws.queue("work"),
        dead_letters=aws.queue("work-dead"),
        messages_per_second=1.0,
        fifo=False,
        parking=aws.parking(),
    )
    route.park(Letter("handle", "body", {**SEND, "redrives": "5"}), "failed again")

    command.run(order())

    assert [one.attributes for one in aws.letters("published")] == [SEND]

"""redrive.handle between real queues."""

import json
from types import SimpleNamespace

import pytest

from functions.redrive.handler import handle
from sluice.adapters.queues import Route
from sluice.domain.letter import Letter, Message
from tests.integration.functions.ports import Telemetry, parked, samples
from tests.integration.functions.test_audit import enveloped

BODY = '{"kind": "send"}'


class Mortal(Route):
    """A route whose process may be killed before a letter is deleted."""

    killed = False

    def bury(self, letter):
        if self.killed:
            raise SystemExit("killed")
        super().bury(letter)


@pytest.fixture
def redrive(aws, clock, load_event):
    telemetry = Telemetry()

    def route(queue="work", *, messages_per_second=4.0):
        dead = f"{queue.removesuffix('.fifo')}-dead{'.fifo' if queue.endswith('.fifo') else ''}"
        return Mortal(
            name=queue,
            queue=aws.queue(queue),
            dead_letters=aws.queue(dead),
            messages_per_second=messages_per_second,
            fifo=queue.endswith(".fifo"),
            parking=aws.parking(),
        )

    def run(*routes, dice=0.0):
        event = load_event("redrive/scheduled")
        handle(event, routes=routes, telemetry=telemetry, clock=clock, dice=lambda: dice)

    return SimpleNamespace(run=run, route=route, telemetry=telemetry)


def die(aws, *bodies, queue="work-dead", **attributes):
    aws.queue(queue).send([Message(body, attributes) for body in bodies])


@pytest.mark.parametrize("sample", samples("redrive"))
def test_with_nothing_dead_a_sample_moves_nothing(redrive, sample):
    assert sample == "scheduled"
    redrive.run(redrive.route())

    assert redrive.telemetry.counts() == {}


def test_a_dead_letter_goes_back_with_its_attributes_and_its_count(redrive, aws):
    die(aws, BODY, kind="send", lane="bulk")

    redrive.run(redrive.route())

    (letter,) = aws.letters("work")
    assert letter.body == BODY
    assert letter.attributes == {"kind": "send", "lane": "bulk", "redrives": "1"}
    assert aws.letters("work-dead") == []
    assert redrive.telemetry.counts() == {"Redriven": 1}


def test_each_redrive_is_counted_on(redrive, aws):
    die(aws, BODY, redrives="3")

    redrive.run(redrive.route())

    assert aws.letters("work")[0].attributes["redrives"] == "4"


def test_the_delay_grows_and_is_spread_by_the_dice(redrive, aws):
    for redrives in ("1", "2", "3", "4"):
        die(aws, BODY, redrives=redrives)

    redrive.run(redrive.route(), dice=0.5)

    delays = [
        round((message.delayed_until - message.sent_timestamp) / 1000)
        for message in aws.stored("work")
    ]
    assert sorted(delays) == [15, 30, 60, 120]
    assert aws.count("work", "Delayed") == 4


def test_what_failed_again_after_five_redrives_is_parked_with_its_reason(redrive, aws):
    die(aws, BODY, kind="send", redrives="5")

    redrive.run(redrive.route())

    (envelope,) = parked(aws)
    assert envelope["step"] == "work"
    assert envelope["reasons"] == ["failed again after 5 redrives"]
    assert envelope["body"] == BODY
    assert envelope["attributes"] == {"kind": "send", "redrives": "5"}
    assert aws.bodies("work") + aws.bodies("work-dead") == []
    assert redrive.telemetry.counts() == {"Parked": 1}


@pytest.mark.parametrize("count", ["many", "-3", "", "1e3", "٣"])
def test_a_count_that_is_none_is_zero(count):
    assert Letter("handle", BODY, {"redrives": count}).redrives == 0


@pytest.mark.parametrize(
    ("messages_per_second", "allowance"), [(0.01, 1), (0.1, 6), (0.152, 9), (0.4, 24)]
)
def test_a_run_moves_at_most_the_allowance_of_a_minute(
    redrive, aws, messages_per_second, allowance
):
    die(aws, *(f'"{place}"' for place in range(40)))

    redrive.run(redrive.route(messages_per_second=messages_per_second))

    assert len(aws.bodies("work")) == allowance


def test_killed_before_the_letter_is_deleted_it_is_there_twice(redrive, aws):
    die(aws, BODY)
    route = redrive.route()
    route.killed = True

    with pytest.raises(SystemExit):
        redrive.run(route)

    assert aws.bodies("work") == [BODY]
    assert aws.count("work-dead", "NotVisible") == 1


def test_a_fifo_letter_goes_back_to_its_group_under_another_deduplication_id(redrive, aws):
    message = Message(BODY, group="17", deduplication="the webhook's")
    for queue in ("statuses.fifo", "statuses-dead.fifo"):
        aws.queue(queue).send([message])
    assert len(aws.letters("statuses.fifo")) == 1

    redrive.run(redrive.route("statuses.fifo"), dice=0.9)

    (letter,) = aws.letters("statuses.fifo")
    assert (letter.body, letter.group) == (BODY, "17")
    assert letter.attributes == {"redrives": "1"}


def test_a_fifo_letter_can_be_redriven_a_second_time_within_five_minutes(redrive, aws):
    queue = aws.queue("statuses-dead.fifo")
    arrived = []
    for redrives in (0, 1):
        attributes = {"redrives": str(redrives)} if redrives else {}
        queue.send([Message(BODY, attributes, group="1", deduplication=f"dead {redrives}")])
        redrive.run(redrive.route("statuses.fifo"))
        arrived += aws.letters("statuses.fifo")

    assert [letter.attributes["redrives"] for letter in arrived] == ["1", "2"]


def test_a_letter_with_a_binary_attribute_holds_nobody_up(redrive, aws):
    aws.sqs.send_message(
        QueueUrl=aws.url("work-dead"),
        MessageBody=BODY,
        MessageAttributes={"picture": {"DataType": "Binary", "BinaryValue": b"\x00"}},
    )
    die(aws, '"another"')

    redrive.run(redrive.route())

    letters = aws.letters("work")
    assert sorted(letter.body for letter in letters) == sorted([BODY, '"another"'])
    # SQS refuses a message with an attribute without a value.
    assert [letter.attributes for letter in letters] == [{"redrives": "1"}] * 2


def test_each_route_is_reported_by_its_name(redrive, aws):
    die(aws, BODY, BODY)
    die(aws, BODY, queue="signals-dead", redrives="5")

    redrive.run(redrive.route(), redrive.route("signals"))

    assert redrive.telemetry.facts("routes") == [{"work": 2, "signals parked": 1}]


def test_a_run_ends_before_lambda_ends_it(redrive, aws, clock):
    class Slow(Mortal):
        def take(self, *limit, **limits):
            clock.advance(30)
            return super().take(*limit, **limits)

    redrive.route()
    die(aws, *(f'"{place}"' for place in range(40)))
    slow = Slow(
        name="work",
        queue=aws.queue("work"),
        dead_letters=aws.queue("work-dead"),
        messages_per_second=4.0,
        fifo=False,
        parking=aws.parking(),
    )

    redrive.run(slow)

    assert len(aws.bodies("work")) == 20


def test_a_request_goes_back_in_its_envelope_and_is_parked_as_it_was_published(redrive, aws):
    body = {"kind": "command", "action": "pause", "campaign": "spring"}
    envelope = json.dumps(enveloped(body, by="ada"))
    die(aws, envelope)
    redrive.run(redrive.route())
    (letter,) = aws.letters("work")
    assert letter.body == envelope

    die(aws, envelope, redrives="5")
    redrive.run(redrive.route())

    (kept,) = parked(aws)
    assert json.loads(kept["body"]) == body
    assert kept["attributes"] == {"kind": "command", "by": "ada", "redrives": "5"}

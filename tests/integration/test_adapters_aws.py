"""Queues, topic, audiences, secrets and configuration against the simulated AWS."""

import json
import traceback
from types import SimpleNamespace

import pytest
from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.base import DEFAULT_PROVIDERS

from sluice.adapters.audience import Audiences
from sluice.adapters.parameters import Configuration, SecretInvalidError, Secrets
from sluice.adapters.queues import Message, NotTakenError, Parking, Queue, Topic
from sluice.domain.limits import SQS_MESSAGE_BYTES_MAX
from sluice.domain.topup import Ticket
from tests.conftest import NUMBER

URI = "s3://audiences/people.csv"
MEBIBYTE = 1024 * 1024


class Scripted:
    """A client that takes batches, but for what ``refusals`` says of each call."""

    def __init__(self, *refusals):
        self.refusals = list(refusals)
        self.calls = []

    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803 - AWS names them
        assert QueueUrl == "url"
        return self._take(Entries)

    def publish_batch(self, *, TopicArn, PublishBatchRequestEntries):  # noqa: N803 - as above
        assert TopicArn == "arn"
        return self._take(PublishBatchRequestEntries)

    def _take(self, entries):
        self.calls.append(entries)
        refused = self.refusals.pop(0) if self.refusals else set()
        failed = [{"Id": e["Id"], "Code": "Busy"} for e in entries if e["Id"] in refused]
        return {"Failed": failed} if failed else {}


def sizes(client):
    return [len(entries) for entries in client.calls]


@pytest.fixture(params=["queue", "topic"])
def sender(request):
    """Makes what sends to a scripted client: a queue, or the topic."""

    def make(*refusals):
        client = Scripted(*refusals)
        if request.param == "queue":
            send = Queue(client, url="url").send
        else:
            send = Topic(client, arn="arn").publish
        return SimpleNamespace(client=client, send=send)

    return make


def test_a_batch_has_at_most_ten_entries(sender):
    one = sender()

    one.send([Message(str(number)) for number in range(23)])

    assert sizes(one.client) == [10, 10, 3]


def test_a_batch_is_together_no_larger_than_one_message_may_be(sender):
    one = sender()
    quarter = "x" * (SQS_MESSAGE_BYTES_MAX // 4)

    one.send([Message(quarter) for _ in range(9)])

    assert sizes(one.client) == [4, 4, 1]


def test_the_size_counts_bytes_and_attributes(sender):
    one = sender()
    half = "é" * (SQS_MESSAGE_BYTES_MAX // 4)

    one.send([Message(half, {"kind": "send"}), Message(half)])

    assert sizes(one.client) == [1, 1]


def test_nothing_to_send_calls_nobody(sender):
    one = sender()

    one.send([])

    assert one.client.calls == []


def test_only_what_was_not_taken_is_sent_again(sender):
    one = sender({"1", "2"}, {"2"})

    one.send([Message(str(number)) for number in range(4)])

    assert [[entry["Id"] for entry in call] for call in one.client.calls] == [
        ["0", "1", "2", "3"],
        ["1", "2"],
        ["2"],
    ]


def test_what_is_not_taken_three_times_raises(sender):
    one = sender({"1"}, {"1"}, {"1"})

    with pytest.raises(NotTakenError, match="1 entries were not taken: Busy"):
        one.send([Message("a"), Message("b")])

    assert sizes(one.client) == [2, 1, 1]


def test_a_message_arrives_with_its_attributes(aws):
    aws.queue("work").send([Message("body", {"kind": "send"})])

    (letter,) = aws.queue("work").receive(visibility_seconds=5)
    assert (letter.body, letter.attributes, letter.group) == ("body", {"kind": "send"}, None)


def test_a_fifo_message_arrives_in_its_group_and_once(aws):
    message = Message("body", group="5", deduplication="same")
    aws.queue("work.fifo").send([message])
    aws.queue("work.fifo").send([message])

    (letter,) = aws.letters("work.fifo")
    assert letter.group == "5"


def test_tickets_reach_the_queue_of_their_number_by_their_attributes(aws):
    sns = aws.client("sns")
    arn = sns.create_topic(Name="campaign-requests")["TopicArn"]
    for number in (NUMBER, "other"):
        queue = f"send-{number}"
        attributes = aws.sqs.get_queue_attributes(
            QueueUrl=aws.url(queue), AttributeNames=["QueueArn"]
        )
        policy = {"kind": ["send"], "phone_number_id": [number], "lane": ["bulk"]}
        sns.subscribe(
            TopicArn=arn,
            Protocol="sqs",
            Endpoint=attributes["Attributes"]["QueueArn"],
            Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps(policy)},
        )
    tickets = [Ticket(seq, 7, NUMBER, (seq,)) for seq in range(12)]

    Topic(sns, arn=arn).publish_tickets(tickets)

    letters = aws.letters(f"send-{NUMBER}")
    assert sorted(json.loads(letter.body)["seqs"] for letter in letters) == [[n] for n in range(12)]
    assert aws.letters("send-other") == []


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ("x" * SQS_MESSAGE_BYTES_MAX, ["no"]),
        ("🎉" * (SQS_MESSAGE_BYTES_MAX // 4), ["no"]),
        ("\x01" * SQS_MESSAGE_BYTES_MAX, ["no"]),
        ("short", [f"{'🎉' * 20_000}: Extra inputs are not permitted"] * 30),
    ],
    ids=["ascii", "emoji", "escapes", "long_reasons"],
)
def test_whatever_is_parked_fits_into_a_message(body, reasons):
    client = Scripted()
    parking = Parking(Queue(client, url="url"))

    parking.park(step="send", reasons=reasons, body=body, attributes={"kind": "send"})

    ((entry,),) = client.calls
    envelope = json.loads(entry["MessageBody"])
    assert len(entry["MessageBody"].encode()) <= SQS_MESSAGE_BYTES_MAX
    assert envelope["truncated"] == (body != "short")
    assert body.startswith(envelope["body"])


@pytest.fixture
def audiences(aws):
    return Audiences(aws.client("s3"))


def lines_from(audiences, offset=0):
    return list(audiences.lines(URI, etag=audiences.etag(URI), offset=offset))


def test_lines_keep_their_ends_and_the_last_needs_none(aws, audiences):
    aws.put(URI, b"a\r\nb\n\nc")

    assert lines_from(audiences) == [b"a\r\n", b"b\n", b"\n", b"c"]


def test_lines_are_read_from_any_byte_on(aws, audiences):
    aws.put(URI, b"one\ntwo\nthree\n")

    assert lines_from(audiences, 4) == [b"two\n", b"three\n"]
    assert lines_from(audiences, 14) == [], "the end of the file"


def test_lines_across_the_pieces_of_the_stream_are_whole(aws, audiences):
    written = [b"%d,%s\n" % (number, b"x" * (number % 700)) for number in range(9_000)]
    content = b"".join(written)
    assert len(content) > 3 * MEBIBYTE
    aws.put(URI, content)

    assert lines_from(audiences) == written


def test_a_huge_file_without_line_ends_is_cut_and_nothing_is_lost(aws, audiences):
    content = bytes(range(11, 256)) * 20_000
    aws.put(URI, content)

    lines = lines_from(audiences)

    assert b"".join(lines) == content
    assert max(map(len, lines)) <= 2 * MEBIBYTE


def test_an_empty_file_has_no_lines(aws, audiences):
    aws.put(URI, b"")

    assert lines_from(audiences) == []


@pytest.mark.parametrize("offset", [0, 4])
def test_a_file_whose_content_changed_is_not_read_on(aws, audiences, offset):
    aws.put(URI, b"one\ntwo\n")
    etag = audiences.etag(URI)
    aws.put(URI, b"one\nother\n")

    assert audiences.lines(URI, etag=etag, offset=offset) is None


def test_a_file_that_went_away_is_not_read_on(aws, audiences):
    aws.put(URI, b"one\n")
    etag = audiences.etag(URI)
    aws.client("s3").delete_object(Bucket="audiences", Key="people.csv")

    assert audiences.lines(URI, etag=etag, offset=0) is None
    assert audiences.etag(URI) is None


@pytest.mark.parametrize("uri", ["s3://nobody/people.csv", "s3://audiences/nothing.csv"])
def test_a_file_that_is_not_there_has_no_etag(aws, audiences, uri):
    aws.put(URI, b"")

    assert audiences.etag(uri) is None


def test_a_key_may_have_any_characters(aws, audiences):
    uri = "s3://audiences/2026/ä file+1?.csv"
    aws.put(uri, b"a\n")

    assert list(audiences.lines(uri, etag=audiences.etag(uri), offset=0)) == [b"a\n"]


@pytest.fixture
def secret(aws):
    """Writes the secret ``s``."""
    parameters.clear_caches()
    DEFAULT_PROVIDERS.clear()
    client = aws.client("secretsmanager")
    client.create_secret(Name="s", SecretString="{}")

    def write(value):
        text = value if isinstance(value, str) else json.dumps(value)
        client.put_secret_value(SecretId="s", SecretString=text)

    yield write
    parameters.clear_caches()
    DEFAULT_PROVIDERS.clear()


def test_secrets_are_read_once_in_minutes(secret):
    secrets = Secrets()
    secret({"access_token": "first"})
    assert secrets.access_token("s") == "first"

    secret({"access_token": "second"})

    assert secrets.access_token("s") == "first"


def test_a_fresh_secret_is_read_at_most_every_thirty_seconds(secret, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("sluice.adapters.parameters.time.monotonic", lambda: now[0])
    secrets, read = Secrets(), []
    for number, seconds in enumerate([0.0, 1.0, 28.9, 0.2]):
        now[0] += seconds
        secret({"access_token": f"token {number}"})
        read.append(secrets.access_token("s", fresh=True))

    assert read == ["token 0", "token 0", "token 0", "token 3"]


def test_what_was_read_afresh_is_remembered(secret):
    secrets = Secrets()
    secret({"access_token": "first"})
    secrets.access_token("s")
    secret({"access_token": "second"})

    assert secrets.access_token("s", fresh=True) == "second"
    assert secrets.access_token("s") == "second"


def test_the_webhook_has_one_or_two_app_secrets(secret):
    secret({"app_secrets": ["new", "", "old"], "verify_token": "token"})

    assert Secrets().webhook("s") == (["new", "old"], "token")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"token": "hush"}, "s has no access_token"),
        ({"access_token": "", "hush": 1}, "s has no access_token"),
        (["hush"], "s is not a JSON object"),
    ],
)
def test_a_missing_field_is_named_and_the_content_is_not_told(secret, value, named):
    secret(value)

    with pytest.raises(SecretInvalidError, match=named) as caught:
        Secrets().access_token("s")

    assert "hush" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"app_secrets": "hush", "verify_token": "x"}, "app_secrets of s is not a list"),
        ({"app_secrets": ["hush"]}, "s has no verify_token"),
        ({"verify_token": "hush"}, "s has no app_secrets"),
    ],
)
def test_a_webhook_secret_of_another_shape_is_named(secret, value, named):
    secret(value)

    with pytest.raises(SecretInvalidError, match=named) as caught:
        Secrets().webhook("s")

    assert "hush" not in "".join(traceback.format_exception(caught.value))


def test_a_secret_that_is_no_json_is_not_told(secret):
    secret("hush: this is no JSON")

    with pytest.raises(Exception, match=".") as caught:
        Secrets().access_token("s")

    assert "hush" not in "".join(traceback.format_exception(caught.value))


@pytest.fixture
def configure(aws):
    parameters.clear_caches()
    DEFAULT_PROVIDERS.clear()
    client = aws.client("ssm")

    def write(name, value):
        text = value if isinstance(value, str) else json.dumps(value)
        client.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)

    yield write
    parameters.clear_caches()
    DEFAULT_PROVIDERS.clear()


def test_parameters_are_read_by_their_last_name_in_order(configure):
    for number in ("2", "1"):
        configure(f"/sluice/numbers/{number}", {"phone_number_id": number})
    configure("/sluice/numbers/deeper/3", {})
    configure("/sluice/routes/4", {})

    found = Configuration().under("/sluice/numbers")

    assert found == {"1": {"phone_number_id": "1"}, "2": {"phone_number_id": "2"}}
    assert list(found) == ["1", "2"]


def test_more_parameters_than_one_answer_holds_are_all_read(configure):
    for number in range(25):
        configure(f"/sluice/numbers/{number:02}", {"place": number})

    assert len(Configuration().under("/sluice/numbers")) == 25


def test_a_path_without_parameters_is_empty(configure):
    configure("/elsewhere/1", {})

    assert Configuration().under("/sluice/numbers") == {}


def test_a_parameter_that_is_no_json_raises_by_its_name(configure):
    configure("/sluice/numbers/1", "{not JSON")

    with pytest.raises(Exception, match="1"):
        Configuration().under("/sluice/numbers")

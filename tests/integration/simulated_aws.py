"""The parts of AWS that functions meet, simulated in this process, with shorthands for tests."""

from functools import cache
from typing import Any

import boto3
from moto.core import DEFAULT_ACCOUNT_ID
from moto.sqs.models import sqs_backends

from sluice.adapters.parked import ParkedMessages
from sluice.adapters.queues import Parking, Queue, Subscribers, Topic

REGION = "us-east-1"
SECONDS_HIDDEN = "5400"


@cache
def client(service: str) -> Any:
    """One client of a service for all tests: making one is slow."""
    return boto3.client(
        service, region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing"
    )


class SimulatedAws:
    """Queues by name, made when they are first named."""

    client = staticmethod(client)

    def __init__(self) -> None:
        self.sqs = client("sqs")
        self._urls: dict[str, str] = {}

    def url(self, name: str) -> str:
        if name not in self._urls:
            attributes = {"VisibilityTimeout": SECONDS_HIDDEN}
            if name.endswith(".fifo"):
                attributes |= {"FifoQueue": "true"}
            made = self.sqs.create_queue(QueueName=name, Attributes=attributes)
            self._urls[name] = made["QueueUrl"]
        return self._urls[name]

    def topic(self, name: str, queue: str) -> str:
        """A topic of which everything reaches a queue, as it was published."""
        topics = self.client("sns")
        arn: str = topics.create_topic(Name=name)["TopicArn"]
        attributes = self.sqs.get_queue_attributes(
            QueueUrl=self.url(queue), AttributeNames=["QueueArn"]
        )
        topics.subscribe(
            TopicArn=arn,
            Protocol="sqs",
            Endpoint=attributes["Attributes"]["QueueArn"],
            Attributes={"RawMessageDelivery": "true"},
        )
        return arn

    def queue(self, name: str) -> Queue:
        return Queue(self.sqs, url=self.url(name))

    def parking(self) -> Parking:
        return Parking(self.queue("parked"))

    def subscribers(self) -> Subscribers:
        """The topic inbound-messages, whose one subscription is the queue ``inbound``."""
        arn = self.client("sns").create_topic(Name="inbound-messages")["TopicArn"]
        queue_arn = self.sqs.get_queue_attributes(
            QueueUrl=self.url("inbound"), AttributeNames=["QueueArn"]
        )["Attributes"]["QueueArn"]
        self.client("sns").subscribe(
            TopicArn=arn,
            Protocol="sqs",
            Endpoint=queue_arn,
            Attributes={"RawMessageDelivery": "true"},
        )
        return Subscribers(Topic(self.client("sns"), arn=arn))

    def parked_messages(self, kind: type[ParkedMessages] = ParkedMessages) -> ParkedMessages:
        """One server has them all: no need to wait for others."""
        return kind(self.sqs, url=self.url("parked"), wait_seconds=0)

    def letters(self, name: str) -> list[Any]:
        """Everything that can be received now, taken out."""
        queue, taken = self.queue(name), []
        while letters := queue.receive(limit=10, visibility_seconds=30):
            for letter in letters:
                queue.delete(letter.handle)
            taken += letters
        return taken

    def bodies(self, name: str) -> list[str]:
        return [letter.body for letter in self.letters(name)]

    def count(self, name: str, kind: str = "") -> int:
        """How many messages are visible, or NotVisible, or Delayed."""
        answer = self.sqs.get_queue_attributes(QueueUrl=self.url(name), AttributeNames=["All"])
        return int(answer["Attributes"][f"ApproximateNumberOfMessages{kind}"])

    def stored(self, name: str) -> list[Any]:
        """The messages as the simulation keeps them, with what no API of SQS tells."""
        queue = sqs_backends[DEFAULT_ACCOUNT_ID][REGION].queues[name]
        return list(queue._messages)

    def put(self, uri: str, content: bytes) -> None:
        """Store an object at ``s3://bucket/key``."""
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        self.client("s3").create_bucket(Bucket=bucket)
        self.client("s3").put_object(Bucket=bucket, Key=key, Body=content)

    def receive(self, name: str, event: dict[str, Any], *, receives: int = 1) -> dict[str, Any]:
        """The event as the event source would make it of its messages, really queued."""
        records = []
        for record in event["Records"]:
            self.sqs.send_message(QueueUrl=self.url(name), MessageBody=record["body"])
            (message,) = self.sqs.receive_message(QueueUrl=self.url(name))["Messages"]
            attributes = {**record["attributes"], "ApproximateReceiveCount": str(receives)}
            handle = message["ReceiptHandle"]
            records.append({**record, "receiptHandle": handle, "attributes": attributes})
        return {"Records": records}

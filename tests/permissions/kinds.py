"""One message of each kind: each function returns when it has passed, or raises."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from local.cloud_api import ledger
from local.scenarios.play import sample_request
from sluice.adapters.clock import SystemClock
from sluice.domain.limits import REDRIVES_MAX
from tests.end_to_end.conftest import FIRST, SECOND
from tests.permissions.running import APPROVED_ABOVE_RECIPIENTS
from tests.permissions.traffic import Passing, Traffic

NUMBERS: Final = (FIRST, SECOND)
LANES: Final = ("bulk", "conversation")
TEXT: Final = {"type": "text", "text": {"body": "The clinic is open today."}}
REQUEST_QUEUES: Final = ("campaign", "command", "erase", "export", "schedule", "approvals")
RETURNING_STEPS: Final = ("send", "signal", "status")
REQUEST_STEPS: Final = ("campaign", "command", "erase", "export", "schedule", "approve")
HELD_RECIPIENTS: Final = APPROVED_ABOVE_RECIPIENTS + 1


def campaign(traffic: Traffic) -> None:
    """From S3, with a file in its header, and its statuses come back."""
    name, numbers = traffic.name("campaign"), traffic.people(3)
    lines = "\n".join(f"{one},Ada,City Clinic" for one in numbers)
    traffic.upload("clinic.png", "\x89PNG of a clinic")
    bucket = traffic.system.deployment.audience_bucket
    header = {
        "type": "header",
        "parameters": [{"type": "image", "image": {"s3": f"s3://{bucket}/clinic.png"}}],
    }
    body = {
        "type": "body",
        "parameters": [
            {"type": "text", "parameter_name": column, "text": f"{{{{{column}}}}}"}
            for column in ("name", "clinic")
        ],
    }
    traffic.publish("campaign", {
        "campaign": name,
        "template": {"name": "clinic_opening", "language": "en_US", "components": [header, body]},
        "numbers": [FIRST],
        "audience": {"s3": traffic.upload(f"{name}.csv", f"address,name,clinic\n{lines}\n")},
    })  # fmt: skip
    traffic.eventually(
        lambda: traffic.tells({"campaign": name}).get("statuses", {}).get("delivered"),
        "a message of a file is delivered",
    )


def send(traffic: Traffic) -> None:
    """Straight to each lane of each number."""
    addresses = []
    for number in NUMBERS:
        for lane in LANES:
            (address,) = traffic.people(1)
            addresses.append(address)
            request = {
                "id": traffic.name("send"),
                "phone_number_id": number,
                "lane": lane,
                "recipients": [{"address": address}],
                "message": TEXT,
            }
            traffic.system.publish(request, kind="send", phone_number_id=number, lane=lane)

    def left() -> bool:
        sent = {one.recipient for one in ledger.requests(traffic.system.api.ledger)}
        return set(addresses) <= sent

    traffic.eventually(left, "each lane sends")


def command(traffic: Traffic) -> None:
    """Pause and resume a campaign; test it."""
    campaign = traffic.campaign("command", 300, start_at="2027-01-01T00:00:00Z")
    order = {"action": "pause", "campaign": campaign.name}
    traffic.publish("command", order)
    state = lambda: traffic.tells({"campaign": campaign.name}).get("state")  # noqa: E731
    traffic.eventually(lambda: state() == "paused", "it is paused")
    test = traffic.name("test")
    (address,) = traffic.people(1)
    parameters = {"name": "Ada", "clinic": "City Clinic", "date": "2026-12-07"}
    traffic.publish("command", {
        "action": "test",
        "campaign": campaign.name,
        "id": test,
        "recipients": [{"address": address, "parameters": parameters}],
        "numbers": [FIRST],
    })  # fmt: skip
    traffic.eventually(
        lambda: any(one.recipient == address for one in ledger.requests(traffic.system.api.ledger)),
        "a test is sent",
    )
    traffic.publish("command", {"action": "resume", "campaign": campaign.name})
    traffic.eventually(lambda: state() != "paused", "it is resumed")


def resend(traffic: Traffic) -> None:
    """To those who failed."""
    campaign = traffic.campaign("resend")
    traffic.eventually(lambda: campaign.states() == {"done": 2}, "a campaign is done")

    def fail_and_order() -> None:
        # A status that comes late may say otherwise, and the next order then finds them again.
        database = traffic.system.database()
        database.fetch(
            "UPDATE delivery SET state = 'failed', error_code = 131042"
            " WHERE campaign_id = %s AND state = 'done' RETURNING seq",
            (campaign.campaign_id(),),
        )
        database.close()
        order = {"campaign": campaign.name, "id": traffic.name("again"), "scope": "failed"}
        traffic.publish("command", {"action": "resend", **order})

    traffic.repeat(
        fail_and_order,
        lambda: sum(len(requests) for requests in campaign.accepted().values()) >= 4,
        "both are sent to again",
    )


def export(traffic: Traffic) -> None:
    """A campaign, as files."""
    campaign = traffic.campaign("export")
    traffic.eventually(lambda: campaign.states() == {"done": 2}, "a campaign is done")
    traffic.publish("export", {"campaign": campaign.name})
    traffic.eventually(
        lambda: traffic.has_export(f"{campaign.name}/manifest.json"), "the manifest is written"
    )
    # Files are there already, which it must be able to see.
    traffic.publish("export", {"campaign": campaign.name, "id": "once-more", "formats": ["csv"]})
    traffic.eventually(
        lambda: traffic.has_export(f"{campaign.name}/once-more/manifest.json"),
        "another manifest is written",
    )


def erase(traffic: Traffic) -> None:
    """A person."""
    request = {"id": traffic.name("erase"), "address": traffic.people(1)[0]}
    traffic.publish("erase", request)
    traffic.eventually(
        lambda: traffic.tells({"erase": request["id"]}).get("state") == "erased",
        "the person is forgotten",
    )


def suppressions(traffic: Traffic) -> None:
    """From the request, from a file, and to a file."""
    one, other = traffic.people(2)
    stop = {"action": "suppress", "scope": "all"}
    file = traffic.upload(f"{traffic.name('stopped')}.csv", f"address\n{other}\n")
    inline, listed = traffic.name("inline"), traffic.name("listed")
    traffic.publish("suppressions", {**stop, "id": inline, "recipients": [one]})
    traffic.publish("suppressions", {**stop, "id": listed, "s3": file})
    for request in (inline, listed):
        traffic.eventually(
            lambda request=request: (
                traffic.tells({"suppressions": request}).get("state") == "finished"
            ),
            f"{request} is taken",
        )
    key = f"suppressions/{traffic.name('export')}.csv"
    bucket = traffic.system.deployment.audience_bucket
    exported = {"action": "export", "id": traffic.name("export"), "s3": f"s3://{bucket}/{key}"}
    traffic.publish("suppressions", exported)
    traffic.eventually(lambda: traffic.has(bucket, key), "suppressions are written to a file")


def audience(traffic: Traffic) -> None:
    """Saved, and dropped."""
    name, (address,) = traffic.name("audience"), traffic.people(1)
    file = traffic.upload(f"{name}.csv", f"address,name\n{address},Ada\n")
    state = lambda: traffic.tells({"audience": name}).get("state")  # noqa: E731
    traffic.publish("audience", {"id": name, "s3": file})
    traffic.eventually(lambda: state() == "saved", "an audience is saved")
    traffic.publish("audience", {"id": name, "action": "drop"})
    traffic.eventually(lambda: state() == "dropped", "an audience is dropped")


def schedule(traffic: Traffic) -> None:
    """Put, started by its clock, and dropped."""
    name, (address,) = traffic.name("schedule"), traffic.people(1)
    request = sample_request(campaign=name)
    del request["campaign"], request["kind"]
    request["audience"] = {
        "s3": traffic.upload(
            f"{name}.csv", f"address,name,clinic,date\n{address},Ada,City Clinic,2026-12-07\n"
        )
    }
    put = {"action": "put", "id": name, "expression": "rate(30 days)", "campaign": request}
    state = lambda: traffic.tells({"schedule": name}).get("state")  # noqa: E731
    traffic.publish("schedule", put)
    traffic.eventually(lambda: state() == "active", "a schedule is put")
    # The local Scheduler does not fill in its own time.
    at = SystemClock().now().replace(microsecond=0).isoformat()
    start = {"kind": "schedule", "action": "start", "id": name, "at": at}
    traffic.put("schedule", json.dumps(start))
    traffic.eventually(
        lambda: any(one.recipient == address for one in ledger.requests(traffic.system.api.ledger)),
        "a schedule starts a campaign",
    )
    traffic.publish("schedule", {"action": "drop", "id": name})
    traffic.eventually(lambda: state() == "dropped", "a schedule is dropped")


def approval(traffic: Traffic) -> None:
    """Of a campaign to more people than may go without one."""
    name = traffic.name("approval")
    request = sample_request(campaign=name)
    first = next(iter(traffic.people(1))).removeprefix("+")
    lines = "\n".join(
        f"+{int(first) + place},Ada,City Clinic,2026-12-07" for place in range(HELD_RECIPIENTS)
    )
    file = traffic.upload(f"{name}.csv", f"address,name,clinic,date\n{lines}\n")
    request |= {"audience": {"s3": file}, "start_at": "2027-01-01T00:00:00Z"}
    state = lambda: traffic.tells({"campaign": name}).get("state")  # noqa: E731
    traffic.publish("campaign", request)
    traffic.eventually(lambda: state() == "awaiting approval", "a campaign is held")
    traffic.approve(name)
    traffic.eventually(lambda: state() not in {None, "awaiting approval"}, "it is approved")
    traffic.publish("command", {"action": "cancel", "campaign": name})


def signal(traffic: Traffic) -> None:
    """What a person says, through the HTTP API, to whoever subscribes."""
    sqs, sns = traffic.system.aws.client("sqs"), traffic.system.aws.client("sns")
    url = sqs.create_queue(QueueName=traffic.name("subscriber"))["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    topic = traffic.system.deployment.inbound_topic_arn
    allow = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn["QueueArn"],
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn["QueueArn"])
    (address,) = traffic.people(1)
    traffic.system.api.tell(
        "inbound", **{"phone_number_id": FIRST, "from": address, "text": "When do you open?"}
    )
    traffic.eventually(
        lambda: sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages"),
        "a reply is told",
    )


def reconcile(traffic: Traffic) -> None:
    """Wakes dispatch, for the next stage of a campaign."""
    stages = [{"recipients": 1, "failure_rate_max": 1, "wait_seconds": 1}]
    campaign = traffic.campaign("stages", stages=stages)
    traffic.eventually(lambda: campaign.states().get("done"), "the first stage is sent")

    def over() -> bool:
        traffic.tick("reconcile")
        return campaign.states() == {"done": 2}

    traffic.eventually(over, "the next stage is sent")


def parked(traffic: Traffic) -> None:
    """What no step can read is kept, told, and goes back when somebody says so."""
    mark = traffic.name("unreadable")
    for queue in (*REQUEST_QUEUES, "signals", "statuses.fifo"):
        traffic.put(queue, f"not JSON: {mark}")
    for number in NUMBERS:
        for lane in LANES:
            attributes = {"kind": "send", "phone_number_id": number, "lane": lane}
            traffic.system.publish({"nothing": mark}, **attributes)

    def told() -> dict[str, str]:
        messages = traffic.tells({"parked": True})["parked"]
        return {one["step"]: one["parked_at"] for one in messages if mark in one["body"]}

    steps = {"send", "signal", "status", *REQUEST_STEPS}
    traffic.eventually(lambda: steps <= told().keys(), "each step parks what it cannot read")
    first = told()

    def newer(again: Mapping[str, str]) -> bool:
        return all(again.get(step, "") > first[step] for step in RETURNING_STEPS)

    def order() -> None:
        for step in RETURNING_STEPS:
            traffic.publish("command", {"action": "return", "parked": "all", "step": step})

    # What a report is looking at is hidden from an order.
    traffic.repeat(order, lambda: newer(told()), "what went back is parked again")


def redrive(traffic: Traffic) -> None:
    """Dead letters go back, but not for ever."""
    dead = [name for name in traffic.system.deployment.queue_urls if "-dead" in name]
    dead.remove("approvals-dead")
    for queue in dead:
        traffic.put(queue, "not JSON")
    traffic.put("campaign-dead", "not JSON either", redrives=str(REDRIVES_MAX))

    def moved() -> bool:
        traffic.tick("redrive")
        return not any(traffic.system.waiting(queue) for queue in dead)

    traffic.eventually(moved, "no dead letter is left")


def waiting(traffic: Traffic) -> None:
    """What each step lets wait, because what it is about is not there yet."""
    nobody = traffic.name("nobody")
    request = sample_request(campaign=traffic.name("waiting"))
    request |= {"audience": {"saved": nobody}}
    traffic.publish("campaign", request)
    traffic.publish("command", {"action": "pause", "campaign": nobody})
    traffic.publish("export", {"campaign": nobody})
    traffic.publish("erase", {"id": traffic.name("erase"), "campaign": nobody})
    traffic.publish("schedule", {"action": "pause", "id": nobody})
    traffic.approve(nobody)


def restore(traffic: Traffic) -> None:
    """What was noted of sends is read again, as after a backup was put back."""
    now = SystemClock().now()
    times = {"restored_to": now - timedelta(days=1), "upto": now - timedelta(seconds=1)}
    question = {name: at.isoformat() for name, at in times.items()}
    traffic.eventually(
        lambda: traffic.system.invoke("restore", question).get("finished"), "all of it is read"
    )


TOGETHER: Final[tuple[Passing, ...]] = (
    approval,
    audience,
    campaign,
    command,
    erase,
    export,
    parked,
    reconcile,
    redrive,
    resend,
    schedule,
    send,
    signal,
    suppressions,
    waiting,
)
"""Statuses come back for ``campaign``, and the report answers everywhere."""
KINDS: Final = (*TOGETHER, restore)
"""What is restored may hold campaigns of the others, so it comes when they are over."""

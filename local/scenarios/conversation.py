"""People answer while a campaign goes out: some ask, some want no more of it."""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from local.cloud_api import ledger
from local.judge.checks import Expected
from local.judge.conversation import Stop, Talk, conversation_checks
from local.judge.judgement import Outcome
from local.scenarios.model import Scenario
from local.scenarios.people import addresses, known_by, people
from local.scenarios.play import FIRST_NUMBER, SECOND_NUMBER, Play
from local.scenarios.weather import LEAVE, MISHAPS
from sluice.domain.words import BUILT_IN

CAMPAIGN: Final = "vaccination"
NUMBERS: Final = (FIRST_NUMBER, SECOND_NUMBER)
CLOSES_SECONDS_MAX: Final = 30.0
UNDER_WAY: Final = 100
"""Messages, before the first ask to stop."""
TALKERS: Final = slice(20, 2_900, 48)
FIXED: Final = slice(21, 2_900, 72)
STOPPERS: Final = slice(-40, None)
"""The last of the audience: their messages leave last."""
ANSWER: Final = "The clinic is open until six. See you there!"
HEARD: Final = "SELECT count(*) FROM conversation"
SENT_AS: Final = "SELECT id, campaign_id || ':' || seq_from FROM direct_send"
STOP_WORDS: Final = ("STOP", "Stop!", "baja", "Désabonner", "acha", "बंद करो")


def story(play: Play) -> Outcome:
    """Send to everybody, while the clinic's desk answers who asks."""
    everybody = [dict(person) for person in people()]
    # Dispatch reads the numbers in its first minute; before, nobody can stay with one of them.
    play.until("the numbers are known", lambda: len(play.ask().get("numbers", ())) == len(NUMBERS))
    talked = dict.fromkeys(addresses(everybody[TALKERS]), SECOND_NUMBER)
    for address in talked:
        play.say(SECOND_NUMBER, f"+{known_by(address)}", "Good morning!")
    play.until("what people said is known", lambda: play.rows(HEARD) == [(len(talked),)])
    fixed = everybody[FIXED]
    for person in fixed:
        person["phone_number_id"] = FIRST_NUMBER

    with Desk.open(play) as desk:
        audience = play.audience(CAMPAIGN, everybody)
        choices = {**LEAVE, "category": "marketing", "us_marketing": "send"}
        play.campaign(CAMPAIGN, audience, **choices)
        play.until("the first messages", lambda: len(play.requests(accepted=False)) > UNDER_WAY)
        stopped_at = {person: _stop(play, place, person)
                      for place, person in enumerate(addresses(everybody[STOPPERS]))}  # fmt: skip
        play.over(CAMPAIGN)
        play.meta_does(reply_share=0.0, stop_share=0.0)
        play.until("the desk has answered all", lambda: desk.idle and _answered(play, desk))
        play.over(CAMPAIGN)

    talk = _seen(play, desk, stopped_at, talked, dict.fromkeys(addresses(fixed), FIRST_NUMBER))
    return Outcome((Expected(CAMPAIGN, len(everybody), 0),), conversation_checks(talk))


def _stop(play: Play, place: int, person: str) -> float:
    """Let somebody ask to stop, in one of the ways in which people do; return when."""
    number, known = FIRST_NUMBER, f"+{known_by(person)}"
    if place % 4 == 0:
        preference = {"wa_id": known[1:], "category": "marketing_messages", "value": "stop"}
        told = {**preference, "timestamp": int(time.time())}
        play.meta_says("user_preferences", {"user_preferences": [told]})
    elif place % 4 == 1:
        button = {"text": "Stop", "payload": "Stop"}
        play.say(number, known, type="button", button=button)
    else:
        play.say(number, known, STOP_WORDS[place % len(STOP_WORDS)])
    return time.time()


def _seen(
    play: Play,
    desk: "Desk",
    stopped_at: Mapping[str, float],
    talked: Mapping[str, str],
    fixed: Mapping[str, str],
) -> Talk:
    sends = play.requests(CAMPAIGN)
    sent_at = {one.recipient: one.wall for one in sends}
    sent_by: dict[str, set[str]] = {}
    for one in sends:
        sent_by.setdefault(one.recipient, set()).add(one.phone_number_id)
    of_campaign = {one.wamid for one in sends}
    said = [one for one in ledger.said(play.system.api.ledger) if one.at > desk.opened_at]
    named = dict(desk.told)
    arrived = _arrivals(play)
    full_until = max(one.arrived for one in sends)
    return Talk(
        said={one.wamid for one in said},
        told=[wamid for wamid, _ in desk.told],
        answers={
            one.wamid: named.get(one.wamid) for one in said if one.context_id in of_campaign
        },
        campaign=CAMPAIGN,
        asked=set(desk.published_at),
        answer_seconds={
            answer: arrived[answer] - at
            for answer, at in desk.published_at.items()
            if answer in arrived and at < full_until
        },
        answered=set(arrived),
        stops=[Stop(person, at, sent_at.get(person)) for person, at in stopped_at.items()],
        talked=talked,
        fixed=fixed,
        sent_by=sent_by,
    )  # fmt: skip


def _arrivals(play: Play) -> dict[str, float]:
    """When each direct send reached Meta, by its id."""
    arrived = {one.opaque_id.rpartition(":")[0]: one.arrived for one in play.requests()}
    return {name: arrived[key] for name, key in play.rows(SENT_AS) if key in arrived}


def _answered(play: Play, desk: "Desk") -> bool:
    return not play.on_its_way() and set(desk.published_at) <= set(_arrivals(play))


@dataclass
class Desk:
    """A clinic's own program: it hears the topic of replies, and answers who does not stop."""

    play: Play
    queue_url: str
    opened_at: float
    told: list[tuple[str, str | None]] = field(default_factory=list)
    """(wamid, campaign) of each message that it was told."""
    published_at: dict[str, float] = field(default_factory=dict)
    """By the id of an answer, on the monotonic clock."""
    failures: list[Exception] = field(default_factory=list)
    idle: bool = False
    _closed: threading.Event = field(default_factory=threading.Event)

    @classmethod
    @contextmanager
    def open(cls, play: Play) -> Iterator[Self]:
        """Subscribe a queue, and answer until the context ends."""
        aws = play.system.aws
        url = aws.client("sqs").create_queue(QueueName="clinic-desk")["QueueUrl"]
        attributes = aws.client("sqs").get_queue_attributes(
            QueueUrl=url, AttributeNames=["QueueArn"]
        )
        aws.client("sns").subscribe(
            TopicArn=play.system.deployment.inbound_topic_arn,
            Protocol="sqs",
            Endpoint=attributes["Attributes"]["QueueArn"],
            Attributes={"RawMessageDelivery": "true"},
        )
        desk = cls(play, url, time.monotonic())
        thread = threading.Thread(target=desk._work, daemon=True)
        thread.start()
        try:
            yield desk
        finally:
            desk._closed.set()
            thread.join(CLOSES_SECONDS_MAX)
        if desk.failures:
            raise desk.failures[0]

    def _work(self) -> None:
        try:
            while not self._closed.is_set():
                self._answer(self._take())
        except Exception as error:  # noqa: BLE001 - raised where the story ends
            self.failures.append(error)

    def _take(self) -> Sequence[Mapping[str, Any]]:
        queue = self.play.system.aws.client("sqs")
        found = queue.receive_message(
            QueueUrl=self.queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=1
        ).get("Messages", [])
        for message in found:
            queue.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        self.idle = not found
        return [json.loads(message["Body"]) for message in found]

    def _answer(self, replies: Sequence[Mapping[str, Any]]) -> None:
        for reply in replies:
            self.told.append((reply["wamid"], (reply["answers"] or {}).get("campaign")))
            words = reply["message"].get("text", {}).get("body", "stop")
            if BUILT_IN.request_of(words) != "stop":
                self._publish(reply)

    def _publish(self, reply: Mapping[str, Any]) -> None:
        name, number = f"answer:{reply['wamid'][-20:]}", reply["phone_number_id"]
        request = {
            "kind": "send",
            "id": name,
            "phone_number_id": number,
            "lane": "conversation",
            "recipients": [{"address": reply["from"]["phone"]}],
            "message": {"type": "text", "text": {"body": ANSWER}},
        }
        self.published_at[name] = time.monotonic()
        self.play.publish(request, phone_number_id=number, lane="conversation")


CONVERSATION: Final = Scenario(
    "conversation",
    "people answer during the campaign: they hear at once, and whoever stops gets nothing",
    story,
    simulation={
        **MISHAPS,
        "failed_share": 0.0,
        "reply_share": 0.05,
        "stop_share": 0.01,
        "reply_context_share": 0.7,
        "reply_seconds_median": 2.0,
    },
)

"""Judges a request: who may ask, what is asked, the caps, the script, the dice. No I/O."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from local.cloud_api.config import Config, Number
from local.cloud_api.errors import Refusal, error_body
from local.cloud_api.limits import PairLimit, Window
from local.cloud_api.messages import Send, answer, claims, read_send, wamid_of
from local.cloud_api.plan import Fate, plan
from local.cloud_api.rules import Rule, RuleBook

_BAD_TOKEN: Final = Refusal(
    190, 401, message="Invalid OAuth access token - Cannot parse access token"
)
_THROTTLED: Final = Refusal(130429, 429, "Cloud API message throughput has been reached.")
_PAIR_LIMITED: Final = Refusal(
    131056,
    400,
    "Message failed to send because there were too many messages sent from this phone number to"
    " the same phone number in a short period of time.",
)
_UNKNOWN_MEDIA: Final = Refusal(131009, details="Parameter value is not valid: media id")
_VERDICTS: Final = {_THROTTLED: "throttled", _PAIR_LIMITED: "pair_limited"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One POST to a number's messages; `arrived` is monotonic seconds, `raw` the body."""

    id: int
    arrived: float
    phone_number_id: str
    authorization: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is recorded and answered; `fate` and `send` are set if the message was accepted."""

    verdict: str
    arrived: float
    http_status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    recipient: str = ""
    opaque_id: str = ""
    content: str = ""
    wamid: str = ""
    send: Send | None = None
    fate: Fate | None = None
    latency_seconds: float = 0.0


class Engine:
    """The state of all numbers. `config` may be replaced at any time, by `reconfigure`."""

    def __init__(
        self, config: Config, *, knows_media: Callable[[str, str], bool] = lambda _number, _id: True
    ) -> None:
        self.config = config
        self._knows_media = knows_media
        self._windows: dict[str, Window] = {}
        self._pairs = PairLimit()
        self._rules = RuleBook(config.rules)
        self._dice = Random(config.seed)

    def reconfigure(self, config: Config) -> None:
        """Take another config; counts and caps go on, other dice only if the seed changed."""
        if config.seed != self.config.seed:
            self._dice = Random(config.seed)
        self.config = config
        self._rules.replace(config.rules)

    def hear(self, phone_number_id: str, arrived: float) -> None:
        """Count a message of a person: a number's cap is for both directions together.

        Source: Meta, Cloud API, throughput. People are never refused, so the window may overflow.
        """
        window = self._windows.setdefault(phone_number_id, Window())
        window.accept(window.in_order(arrived))

    def judge(self, asked: Asked) -> Judgement:
        """The verdict on a request; an accepted one counts in the number's window."""
        if asked.authorization.removeprefix("Bearer ") not in self.config.access_tokens:
            return _refused(asked, _BAD_TOKEN)
        number = self.config.numbers.get(asked.phone_number_id)
        if number is None:
            return _refused(asked, _unknown_number(asked.phone_number_id))
        send = read_send(asked.raw, number.country_calling_code)
        if isinstance(send, Refusal):
            return _refused(asked, send)
        for media_id in send.media_ids:
            if not self._knows_media(asked.phone_number_id, media_id):
                return _refused(asked, _UNKNOWN_MEDIA, send)
        return self._admitted(asked, number, send)

    def _admitted(self, asked: Asked, number: Number, send: Send) -> Judgement:
        window = self._windows.setdefault(asked.phone_number_id, Window())
        arrived = window.in_order(asked.arrived)
        if window.full(arrived, number.messages_per_second):
            return _refused(asked, _THROTTLED, send, arrived)
        rule = self._rules.match(asked.phone_number_id, send.recipient, arrived)
        if rule is not None and rule.refuses:
            return _scripted(asked, rule, send, arrived)
        if not self._pairs.admits(
            (asked.phone_number_id, send.wa_id or send.user_id),
            arrived,
            interval=self.config.pair_interval_seconds,
            burst=self.config.pair_burst_max,
        ):
            return _refused(asked, _PAIR_LIMITED, send, arrived)
        window.accept(arrived)
        return self._accepted(asked, send, arrived, rule)

    def _accepted(self, asked: Asked, send: Send, arrived: float, rule: Rule | None) -> Judgement:
        salt = self._dice.getrandbits(32)
        if send.lost:
            rule = Rule(silent=True)
        fate = plan(self.config, self._dice, rule)
        wamid = wamid_of(send.recipient, asked.id, salt)
        verdict = "lost_answer" if fate.lost_answer else "held" if fate.held else "accepted"
        body = json.dumps(answer(send, wamid, held=fate.held)).encode()
        if rule is not None and rule.truncate:
            body = body[: len(body) // 2]
        return Judgement(
            verdict=verdict,
            arrived=arrived,
            http_status=200,
            body=body,
            recipient=send.recipient,
            opaque_id=send.opaque_id,
            content=send.content,
            wamid=wamid,
            send=send,
            fate=fate,
            latency_seconds=fate.latency_seconds,
        )


def _refused(
    asked: Asked, refusal: Refusal, send: Send | None = None, arrived: float | None = None
) -> Judgement:
    recipient, opaque_id = (send.recipient, send.opaque_id) if send else claims(asked.raw)
    return Judgement(
        verdict=_VERDICTS.get(refusal, f"rejected:{refusal.code}"),
        arrived=asked.arrived if arrived is None else arrived,
        http_status=refusal.http_status,
        body=json.dumps(error_body(refusal, f"A{asked.id:022x}")).encode(),
        recipient=recipient,
        opaque_id=opaque_id,
        content=send.content if send else "",
    )


def _scripted(asked: Asked, rule: Rule, send: Send, arrived: float) -> Judgement:
    http_status = rule.http_status or 400
    if rule.code is not None:
        refusal = Refusal(rule.code, http_status, rule.details, rule.message)
        body, verdict = error_body(refusal, f"A{asked.id:022x}"), f"rejected:{rule.code}"
        content, content_type = json.dumps(body).encode(), "application/json"
    else:
        verdict, content_type = f"rejected:http_{http_status}", "text/html"
        content = b"<html><body><h1>Sorry, something went wrong.</h1></body></html>"
    return Judgement(
        verdict=verdict,
        arrived=arrived,
        http_status=http_status,
        body=content,
        content_type=content_type,
        headers=dict(rule.headers),
        latency_seconds=rule.latency_seconds or 0.0,
        recipient=send.recipient,
        opaque_id=send.opaque_id,
        content=send.content,
    )


def _unknown_number(phone_number_id: str) -> Refusal:
    return Refusal(
        100,
        message=f"Unsupported post request. Object with ID '{phone_number_id}' does not exist,"
        " cannot be loaded due to missing permissions, or does not support this operation.",
        subcode=33,
    )

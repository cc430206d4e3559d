"""What people say back: to messages that reached them, by the dice, or when they are told to."""

import asyncio
import time
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from local.cloud_api.engine import Engine, Judgement
from local.cloud_api.ledger import Said
from local.cloud_api.outbox import Outbox
from local.cloud_api.payloads import Change, inbound_value
from local.cloud_api.plan import lognormal
from local.cloud_api.recorder import Recorder

_REACHED: Final = ("delivered", "read")
_REPLIES: Final = ("Thank you.", "Can I come at ten?", "Ndiyo, asante 🎉", "¿Dónde es?")
_STOP: Final = "STOP"


class Replies:
    """Messages from people, each counted in its number's messages per second when it comes."""

    def __init__(self, *, engine: Engine, outbox: Outbox, recorder: Recorder) -> None:
        self._engine = engine
        self._outbox = outbox
        self._recorder = recorder
        # Dice of their own: replies must not move what happens to messages.
        self._dice = Random(engine.config.seed + 1)
        self._thinking = 0

    def pending(self) -> int:
        """People who are about to answer."""
        return self._thinking

    def schedule(self, phone_number_id: str, judgement: Judgement) -> None:
        """Let the person whom an accepted message reaches answer it, if the dice say so."""
        config, send, fate = self._engine.config, judgement.send, judgement.fate
        if send is None or fate is None or not (config.reply_share or config.stop_share):
            return
        dice = self._dice
        rolls = [dice.random() for _ in range(3)]
        seconds = lognormal(dice, config.reply_seconds_median, config.delay_sigma)
        words = dice.choice(_REPLIES)
        reached = [one.posted for one in fate.statuses if one.status in _REACHED]
        if not reached or not send.wa_id or rolls[0] >= config.reply_share + config.stop_share:
            return
        text = _STOP if rolls[0] < config.stop_share else words
        context = judgement.wamid if rolls[1] < config.reply_context_share else ""
        self._thinking += 1
        due = judgement.arrived + min(reached) + seconds - time.monotonic()
        asyncio.get_running_loop().call_later(
            max(0.0, due), self._answer, phone_number_id, send.wa_id, text, context
        )

    def say(
        self, phone_number_id: str, sender: str, content: Mapping[str, Any], context_id: str = ""
    ) -> None:
        """Emit a message from a person (`sender`: digits), now; KeyError: no such number."""
        number = self._engine.config.numbers[phone_number_id]
        at, wall = time.monotonic(), time.time()
        self._engine.hear(phone_number_id, at)
        wamid = f"wamid.IN{self._recorder.next_id():016X}"
        self._recorder.said(Said(at, wall, phone_number_id, sender, wamid, context_id))
        message = {"from": sender, "id": wamid, "timestamp": str(int(wall)), **content}
        if context_id:
            message["context"] = {"from": number.display_phone_number, "id": context_id}
        value = inbound_value(phone_number_id, number, sender=sender, message=message)
        self._outbox.schedule_now(Change(number.account_id, "messages", value))

    def _answer(self, phone_number_id: str, sender: str, text: str, context_id: str) -> None:
        self._thinking -= 1
        content = {"type": "text", "text": {"body": text}}
        self.say(phone_number_id, sender, content, context_id)

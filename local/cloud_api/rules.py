"""Scripted answers: what happens to chosen recipients, whatever the dice say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

ANY_RECIPIENT: Final = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to the requests for one recipient.

    `recipient` is `+<digits>`, a BSUID or `*`; `attempts` names the requests it is for (1 is the
    first that passed the caps), empty means all. A `code`, or an `http_status` of 400 and more,
    refuses the request; `asynchronous` accepts it and fails it later by webhook (after `sent`
    when `sent_first`). An `http_status` without `code` answers HTML, as a proxy would.
    `silent` sends no status at all, `lose_answer` closes the connection instead of answering,
    `truncate` answers half of it. `recovers` tells `delivered` after the failure. `lasts_seconds`:
    from the first request that it is for, then it is over.
    """

    recipient: str = ANY_RECIPIENT
    phone_number_id: str = ""
    attempts: tuple[int, ...] = ()
    code: int | None = None
    http_status: int | None = None
    details: str = ""
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    asynchronous: bool = False
    sent_first: bool = False
    lose_answer: bool = False
    silent: bool = False
    held: bool = False
    latency_seconds: float | None = None
    truncate: bool = False
    recovers: bool = False
    lasts_seconds: float | None = None

    @property
    def refuses(self) -> bool:
        """Whether the request is answered with an error."""
        return not self.asynchronous and (
            self.code is not None or (self.http_status or 200) >= 400  # noqa: PLR2004
        )


class RuleBook:
    """The rules in order, the first match wins, with a count of the requests per recipient."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._counts: dict[str, int] = {}
        self._began: dict[int, float] = {}
        self.replace(rules)

    def replace(self, rules: Sequence[Rule]) -> None:
        """Take other rules; the counts of requests go on."""
        self._began.clear()
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.recipient, []).append(rule)

    def match(self, phone_number_id: str, recipient: str, now: float = 0.0) -> Rule | None:
        """The rule for this request, which is counted; named recipients go before `*`.

        `now` is in monotonic seconds.
        """
        candidates = self._rules.get(recipient, []) + self._rules.get(ANY_RECIPIENT, [])
        if not candidates:
            return None
        attempt = self._counts.get(recipient, 0) + 1
        self._counts[recipient] = attempt
        for rule in candidates:
            if rule.phone_number_id in ("", phone_number_id) and (
                (not rule.attempts or attempt in rule.attempts) and self._lasts(rule, now)
            ):
                return rule
        return None

    def _lasts(self, rule: Rule, now: float) -> bool:
        if rule.lasts_seconds is None:
            return True
        key = id(rule)
        return now < self._began.setdefault(key, now) + rule.lasts_seconds

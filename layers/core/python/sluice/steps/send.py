"""Send: claim queued deliveries, start each at its place in the pace, record what it came to."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice

from sluice.domain.body import body_of
from sluice.domain.brakes import (
    CircuitBreaker,
    Stop,
    StopAccount,
    StopCampaign,
    StopNumber,
    stop_of,
)
from sluice.domain.claim import Claim, Claimed, Key, Result
from sluice.domain.clock import Clock
from sluice.domain.lanes import SlotPace
from sluice.domain.limits import (
    CLAIM_FRESH_SECONDS,
    CLAIM_LEASE_SECONDS,
    CLAIM_SEND_BY_SECONDS,
    HTTP_CONNECT_TIMEOUT_SECONDS,
    HTTP_READ_TIMEOUT_SECONDS,
    MEDIA_WAIT_SECONDS,
    PAIR_SECONDS,
    PAUSE_WAIT_SECONDS_MAX,
    SEND_RESERVE_SECONDS,
)
from sluice.domain.outcomes import Failed, Outcome
from sluice.domain.pairs import Pairs
from sluice.domain.results import handed_back, result_of, settled
from sluice.domain.sending import Claims, CloudApi, Sent, Stops

RECORD_SECONDS = 1.0
"""Results wait at most so long to be recorded."""
_ANSWER_SECONDS = HTTP_CONNECT_TIMEOUT_SECONDS + HTTP_READ_TIMEOUT_SECONDS


@dataclass(slots=True)
class Sender:
    """One invocation of a slot: nothing is shared but the database."""

    phone_number_id: str
    pace: SlotPace
    entered_at: float
    """``clock.monotonic()`` at the entry of the handler: the first gap begins there."""
    deadline: float
    """``clock.monotonic()`` when the function is killed."""
    claims: Claims
    stops: Stops
    cloud_api: CloudApi
    pairs: Pairs
    """Remembered from one invocation of this environment to the next."""
    clock: Clock
    dice: Callable[[], float]

    sent: Sent = field(init=False, default_factory=Sent)
    _waiting: deque[tuple[int, Key]] = field(init=False, default_factory=deque)
    _ready: deque[Claimed] = field(init=False, default_factory=deque)
    _results: list[Result] = field(init=False, default_factory=list)
    _spaced: Counter[str] = field(init=False, default_factory=Counter)
    _breaker: CircuitBreaker = field(init=False, default_factory=CircuitBreaker)
    _claimed_at: float = field(init=False, default=0.0)
    _asked_at: float = field(init=False, default=0.0)
    _started_at: float = field(init=False)
    _recorded_at: float = field(init=False)
    _resume_at: float = field(init=False, default=0.0)
    _told_until: datetime = field(init=False, default=datetime.min.replace(tzinfo=UTC))

    def __post_init__(self) -> None:
        """Begin the first gap, and the first second of results, at the entry."""
        self._started_at = self._recorded_at = self.entered_at

    def send(self, chunks: Sequence[Sequence[Key]]) -> Sent:
        """Send what is still queued of the chunks; what time does not allow goes back to pending.

        Without the database nothing is claimed and nothing leaves. What is in flight then is
        waited for; what cannot be recorded is settled by statuses or the reconciler.
        """
        self._waiting.extend((place, key) for place, keys in enumerate(chunks) for key in keys)
        self.cloud_api.prepare()
        try:
            while self._step():
                pass
            self._record()
        except Exception as error:  # noqa: BLE001 - reported, and the chunks come again
            self.sent.failure = error
            self.sent.unfinished.update(place for place, _ in self._waiting)
            self._collect_all()
        return self.sent

    def _step(self) -> bool:
        """Do the one thing that is next; False when nothing is left to do."""
        self._take(timeout_seconds=0.0)
        if self.clock.monotonic() - self._recorded_at >= RECORD_SECONDS:
            self._record()
        if self._out_of_time() and (self._ready or self._waiting):
            self._give_back()
        elif self._wait_for_resume():
            pass
        elif self._ready and self._must_ask():
            self._ask_again()
        elif self._ready:
            self._start_next()
        elif self._waiting:
            self._claim()
        elif self.cloud_api.in_flight:
            self._take(timeout_seconds=RECORD_SECONDS)
        else:
            return False
        return True

    def _claim(self) -> None:
        batch = list(islice(self._waiting, self.pace.rows(self.clock.monotonic())))
        claim = self._ask(key for _, key in batch)
        if claim.paused_until is not None:
            return
        self._claimed_at = self.clock.monotonic()
        for _ in batch:
            self._waiting.popleft()
        self.sent.claimed += len(claim.rows)
        self._ready.extend(claim.rows)
        for campaign_id in {row.key.campaign_id for row in claim.rows}:
            # Known from here on, whatever the database does.
            if self.claims.policy(campaign_id).media_until <= self.clock.now():
                self.sent.without_media.add(campaign_id)
                self._hand_back(campaign_id, wait_seconds=MEDIA_WAIT_SECONDS)

    def _must_ask(self) -> bool:
        """Whether what was answered is too old to send by it: somebody may have stopped it."""
        now = self.clock.monotonic()
        return now > self._asked_at + CLAIM_FRESH_SECONDS or self.pace.must_ask(now)

    def _ask_again(self) -> None:
        """Claim what is ours once more, which changes nothing where it still may be sent."""
        claim = self._ask([row.key for row in self._ready], lease=self._ready[0].lease)
        if claim.paused_until is None:
            self._ready = deque(claim.rows)

    def _ask(self, keys: Iterable[Key], *, lease: datetime | None = None) -> Claim:
        """Claim these rows, and heed what the answer says of the number."""
        now, asked_at = self.clock.now(), self.clock.monotonic()
        # The dice make the lease this claim's own; see Claims.claim.
        lease = lease or now + timedelta(seconds=CLAIM_LEASE_SECONDS + self.dice())
        claim = self.claims.claim(keys, now=now, lease=lease)
        self._asked_at, answered_at = asked_at, self.clock.monotonic()
        self.sent.claim_milliseconds.append(round(1_000 * (answered_at - asked_at), 1))
        self.pace.heed(claim, asked_at=asked_at, answered_at=answered_at)
        if claim.paused_until is not None:
            self._hold((claim.paused_until - now).total_seconds())
        return claim

    def _start_next(self) -> None:
        if self.cloud_api.full:
            self._take(timeout_seconds=RECORD_SECONDS)
        if self.clock.monotonic() > self._claimed_at + CLAIM_SEND_BY_SECONDS:
            self._hand_back()
            return
        if self.cloud_api.full:
            return
        claimed = self._ready[0]
        if self._space(claimed):
            return
        policy = self.claims.policy(claimed.key.campaign_id)
        body = body_of(claimed, None if claimed.message else policy.template_for(claimed))
        if isinstance(body, Failed):
            self._ready.popleft()
            self._results.append(self._result(claimed, body))
            self._heed(claimed, body)
            return
        now = self.clock.monotonic()
        due_at = self.pace.due(self._started_at, now)
        leaves_at = self.clock.now() + timedelta(seconds=due_at - now)
        if not policy.is_open(claimed, leaves_at):
            self._results.append(handed_back(self._ready.popleft(), due_at=self.clock.now()))
            return
        self._started_at = self.cloud_api.start(claimed, body, due_at=due_at)
        self._ready.popleft()
        self.pairs.took(claimed.address, now=self.clock.now().timestamp())
        self.sent.start(claimed.key.campaign_id)
        self.sent.paced_seconds += due_at - now

    def _space(self, claimed: Claimed) -> bool:
        """Hand a message back that its pair would not take yet, those behind it later still."""
        now = self.clock.now()
        wait_seconds = self.pairs.wait_seconds(claimed.address, now=now.timestamp())
        if not wait_seconds:
            return False
        wait_seconds += PAIR_SECONDS * self._spaced[claimed.address]
        self._spaced[claimed.address] += 1
        self._ready.popleft()
        due_at = now + timedelta(seconds=wait_seconds)
        self._results.append(handed_back(claimed, due_at=due_at))
        self.sent.spaced += 1
        return True

    def _take(self, *, timeout_seconds: float) -> None:
        taken = [
            (claimed, settled(claimed, outcome, self.claims.policy(claimed.key.campaign_id)))
            for claimed, outcome in self.cloud_api.take(timeout_seconds=timeout_seconds)
        ]
        # All of them first: a pause that cannot be written must not cost the others' results.
        self._results += [self._result(claimed, outcome) for claimed, outcome in taken]
        for claimed, outcome in taken:
            self._heed(claimed, outcome)

    def _heed(self, claimed: Claimed, outcome: Outcome) -> None:
        self.sent.outcomes[type(outcome).__name__] += 1
        code = getattr(outcome, "code", None)
        if code is not None:
            self.sent.refusals[claimed.key.campaign_id, code] += 1
        if isinstance(outcome, Failed) and not outcome.recognised:
            self.sent.unrecognised.add(outcome.code)
        now = self.clock.now()
        stop = stop_of(outcome, now=now)
        broken = self._breaker.heed(claimed.key.campaign_id, outcome, now=now)
        for one in (stop, broken):
            if one is not None:
                # An outage of Meta's passes by itself.
                self.sent.stops += one is stop or isinstance(one, StopCampaign)
                self._stop(claimed.key.campaign_id, one)

    def _result(self, claimed: Claimed, outcome: Outcome) -> Result:
        policy = self.claims.policy(claimed.key.campaign_id)
        return result_of(claimed, outcome, policy, now=self.clock.now(), dice=self.dice())

    def _stop(self, campaign_id: int, stop: Stop) -> None:
        match stop:
            case StopNumber(until=until):
                # A storm of refusals is one pause, written once.
                if until > self._told_until + timedelta(seconds=RECORD_SECONDS):
                    self._told_until = until
                    self.stops.stop_sending(self.phone_number_id, stop, now=self.clock.now())
                self._hold((until - self.clock.now()).total_seconds())
            case StopAccount():
                self.stops.stop_sending(self.phone_number_id, stop, now=self.clock.now())
                self._hand_back()
            case StopCampaign(until=resume_at, reason=reason):
                self.stops.pause_campaign(campaign_id, until=resume_at, reason=reason)
                self._hand_back(campaign_id)

    def _hold(self, seconds: float) -> None:
        """Wait a pause of the number out, or give its rows to others if it is long."""
        if seconds <= PAUSE_WAIT_SECONDS_MAX:
            self._resume_at = max(self._resume_at, self.clock.monotonic() + seconds)
            return
        self._give_back()

    def _wait_for_resume(self) -> bool:
        seconds = self._resume_at - self.clock.monotonic()
        if seconds <= 0 or not (self._ready or self._waiting):
            return False
        if self.cloud_api.in_flight:
            self._take(timeout_seconds=min(seconds, RECORD_SECONDS))
        else:
            self.clock.sleep(min(seconds, RECORD_SECONDS))
        return True

    def _out_of_time(self) -> bool:
        return self.clock.monotonic() > self.deadline - SEND_RESERVE_SECONDS

    def _give_back(self) -> None:
        """Return everything that was not started to pending, for any number of its pool."""
        self._hand_back()
        self.claims.release((key for _, key in self._waiting), now=self.clock.now())
        self._waiting.clear()

    def _hand_back(self, campaign_id: int | None = None, wait_seconds: float = 0.0) -> None:
        """Undo the claim of rows that were not started, of one campaign or of all."""
        kept: deque[Claimed] = deque()
        due_at = self.clock.now() + timedelta(seconds=wait_seconds)
        for claimed in self._ready:
            if campaign_id in (None, claimed.key.campaign_id):
                self._results.append(handed_back(claimed, due_at=due_at))
            else:
                kept.append(claimed)
        self._ready = kept

    def _record(self) -> None:
        """Write what is known, again and again until the deadline: it cannot be learnt twice."""
        self._recorded_at = self.clock.monotonic()
        if self._results:
            patience = max(1.0, self.deadline - self._recorded_at - RECORD_SECONDS)
            self.claims.record(self._results, now=self.clock.now(), patience_seconds=patience)
            self._results = []

    def _collect_all(self) -> None:
        """Leave nothing in flight: what the function does not wait for, nobody records."""
        self._hand_back()
        give_up_at = self.clock.monotonic() + _ANSWER_SECONDS
        while self.cloud_api.in_flight and self.clock.monotonic() < give_up_at:
            for claimed, outcome in self.cloud_api.take(timeout_seconds=RECORD_SECONDS):
                self._results.append(self._result(claimed, outcome))
        with suppress(Exception):  # the first failure is the one that is reported
            self._record()

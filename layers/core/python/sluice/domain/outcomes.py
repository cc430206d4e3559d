"""What a send, or a ``failed`` status, can come to: a closed set, decided in ``errors``."""

from dataclasses import dataclass

from sluice.domain.backoff import full_jitter_seconds, pair_seconds


@dataclass(frozen=True, slots=True)
class Accepted:
    """Meta took the message. ``held``: kept back by Meta for quality assessment."""

    wamid: str
    held: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody here knows whether Meta took the message, so it is never blindly sent again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What every refusal carries.

    ``code`` is Meta's; the HTTP status where the answer had no error of Meta's. ``details`` are
    Meta's words about this message.
    """

    code: int
    details: str


@dataclass(frozen=True, slots=True)
class Throttled(Failure):
    """The number sends too fast: it waits ``for_seconds``, and no attempt is burned."""

    for_seconds: float


@dataclass(frozen=True, slots=True)
class Retry(Failure):
    """The recipient may be tried again later, as another attempt.

    After ``tries_max`` retries (None: the campaign's own limit) it has failed; ``systemic`` as
    everybody would. ``outage``: many in a row say that Meta is away.
    """

    after_seconds: float
    base_seconds: float
    cap_seconds: float
    tries_max: int | None = None
    pair: bool = False
    rising: bool = False
    systemic: bool = False
    outage: bool = False

    def spent(self, *, attempts: int) -> bool:
        """Whether nobody may be tried again who was tried so often."""
        return self.tries_max is not None and attempts > self.tries_max

    def delay_seconds(self, *, attempt: int, dice: float) -> float:
        """How long to wait: ``attempt`` is 0 for the first retry, ``dice`` in [0, 1).

        Full jitter on top of ``after_seconds``, of twice and three times as much where they are
        ``rising``; for the pair limit, jitter on top of Meta's 4^X.
        """
        after_seconds = self.after_seconds * (attempt + 1 if self.rising else 1)
        least = max(after_seconds, pair_seconds(attempt) if self.pair else 0.0)
        return least + full_jitter_seconds(
            attempt=attempt,
            base_seconds=self.base_seconds,
            cap_seconds=self.cap_seconds,
            dice=dice,
        )


@dataclass(frozen=True, slots=True)
class Failed(Failure):
    """Final for this recipient.

    ``recognised`` is False for a code that the table does not have: loud. ``systemic`` says that
    the cause is likely to be the same for every recipient (a request or a template that Meta does
    not take), so that many in a row should pause the campaign.
    """

    recognised: bool = True
    systemic: bool = False


@dataclass(frozen=True, slots=True)
class PauseCampaign(Failure):
    """The template or the campaign cannot be sent: for ``for_seconds``, or until a human acts."""

    for_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PauseNumber(Failure):
    """The number cannot send: for ``for_seconds``, or until a human acts.

    Soon after another such pause it doubles, up to ``longest_seconds``.
    """

    for_seconds: float | None = None
    longest_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PauseAccount(Failure):
    """No number of the account, or of the ``whole_app``, can send; times as for a number."""

    for_seconds: float | None = None
    longest_seconds: float | None = None
    whole_app: bool = False


Refusal = Throttled | Retry | Failed | PauseCampaign | PauseNumber | PauseAccount
"""What a code of the table can come to."""
Outcome = Accepted | Unknown | Refusal
"""What an answer can come to."""

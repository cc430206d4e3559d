"""Whether a claim is as fast in a large campaign as in a small one: ``python -m bench.claim``."""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.harness import (
    FILL_RECIPIENTS,
    NOW,
    NUMBER,
    Bar,
    Spread,
    arguments,
    conclude,
    fill,
    migrated,
    new_campaign,
    p99,
    progress,
    ratios,
    say,
    server,
    timed,
)
from sluice.adapters.postgres.claims import Claims
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.picks import Picks
from sluice.domain.claim import Claimed, Key, Result
from sluice.domain.delivery import State, Status

if TYPE_CHECKING:
    from sluice.domain.topup import PickedChunk

SMALL_ROWS: Final = 100_000
SUB_BATCH: Final = 40
"""What a slot of 38 sends per second claims at once, about."""
PICK_ROWS: Final = 3_040
"""40 seconds of work of a number at 80 messages per second."""
PICKS_PER_ROUND: Final = 3
RATIO_MAX: Final = 1.5
FILL_DELIVERIES: Final = """
INSERT INTO delivery (campaign_id, seq, state, due_at)
SELECT %(campaign_id)s, seq, 'pending', %(now)s
FROM generate_series(%(done)s + 1, %(rows)s) AS seq
"""
FILL_DONE: Final = """
INSERT INTO delivery (campaign_id, seq, state, status, attempt, phone_number_id, accepted_at)
SELECT %(campaign_id)s, seq, 'done', 'accepted', 1, %(number)s, %(now)s
FROM generate_series(1, %(done)s) AS seq
"""
LOADED: Final = """
UPDATE campaign SET loaded_at = %(now)s, loaded_rows = %(rows)s WHERE campaign_id = %(campaign_id)s
"""
Measure = Callable[[Sequence[float]], float]
STEPS: Final[tuple[tuple[str, Measure, str], ...]] = (
    # Of three picks in a round, the 99th percentile says nothing.
    ("pick", median, "p50"),
    ("claim", p99, "p99"),
    ("record", p99, "p99"),
)


@dataclass
class Campaign:
    """A campaign of some size, some of it done, worked on by one sender."""

    database: Database
    rows: int
    done: int
    seconds: dict[str, list[list[float]]] = field(
        default_factory=lambda: {step: [] for step, _, _ in STEPS}
    )
    """By step, a list for each round."""

    def __post_init__(self) -> None:
        """Fill it."""
        self._campaign_id = new_campaign(self.database, "claims")
        fill(
            self.database,
            (FILL_RECIPIENTS, FILL_DONE, FILL_DELIVERIES, LOADED),
            {
                "campaign_id": self._campaign_id,
                "rows": self.rows,
                "done": self.done,
                "number": NUMBER,
                "now": NOW,
            },
        )
        self._claims = Claims(self.database, phone_number_id=NUMBER, lane="bulk")
        self._picks = Picks(self.database)
        self._queued: deque[Key] = deque()
        self._leases = 0

    def begin(self) -> None:
        """Begin a round."""
        for rounds in self.seconds.values():
            rounds.append([])

    def pick(self) -> int:
        """Queue a pick; returns its sub-batches."""

        def work() -> None:
            with self._picks.round(now=NOW) as current:
                assert current is not None
                chunks.extend(
                    current.pick(NUMBER, "bulk", self._campaign_id, rows=PICK_ROWS, size=100)
                )

        chunks: list[PickedChunk] = []
        self.seconds["pick"][-1].append(timed(work))
        self._picks.published(chunks)
        self._queued.extend(Key(self._campaign_id, s) for chunk in chunks for s in chunk.seqs)
        assert len(self._queued) == PICK_ROWS, "the campaign is large enough for every round"
        return PICK_ROWS // SUB_BATCH

    def claim_and_record(self) -> Iterator[None]:
        """Claim a sub-batch, give way to the other campaign, and record it."""
        keys = [self._queued.popleft() for _ in range(SUB_BATCH)]
        self._leases += 1
        lease = NOW + timedelta(seconds=60, microseconds=self._leases)
        rows: list[Claimed] = []

        def claim() -> None:
            rows.extend(self._claims.claim(keys, now=NOW, lease=lease).rows)

        self.seconds["claim"][-1].append(timed(claim))
        assert len(rows) == SUB_BATCH, "nobody else claims here"
        yield
        results = [_accepted(row) for row in rows]
        record = timed(lambda: self._claims.record(results, now=NOW, patience_seconds=1.0))
        self.seconds["record"][-1].append(record)
        yield


def _accepted(row: Claimed) -> Result:
    wamid = f"wamid.HBgLNDkxNTE1NTAwMDAwMBUCABEYEjcy{row.key.campaign_id:08}{row.key.seq:012}"
    return Result(
        row.key, row.attempt, row.lease, State.DONE, Status.ACCEPTED, due_at=None, wamid=wamid
    )


def work_through(small: Campaign, large: Campaign) -> None:
    """One round: the same steps of both campaigns in turn, the first one changing."""
    small.begin()
    large.begin()
    for turn in range(PICKS_PER_ROUND):
        pair = (small, large) if turn % 2 else (large, small)
        sub_batches = [campaign.pick() for campaign in pair]
        for _ in range(min(sub_batches)):
            for _ in zip(*(campaign.claim_and_record() for campaign in pair), strict=True):
                pass


def main() -> int:
    """Measure, print and judge."""
    parser = arguments(__doc__, rows=1_000_000, rounds=5)
    parser.add_argument("--done", type=float, default=0.0, help="share already done, default 0")
    options = parser.parse_args()
    rounds = min(
        options.rounds, _pending(SMALL_ROWS, options.done) // (PICK_ROWS * PICKS_PER_ROUND)
    )
    with ExitStack() as stack:
        postgres = stack.enter_context(server())
        shown = stack.enter_context(progress())
        task = shown.add_task("filling", total=rounds + 2)
        campaigns = []
        for name, rows in (("small", SMALL_ROWS), ("large", options.rows)):
            database, _ = stack.enter_context(migrated(postgres, name))
            campaigns.append(Campaign(database, rows, rows - _pending(rows, options.done)))
            shown.advance(task)
        small, large = campaigns
        shown.update(task, description="rounds")
        for _ in range(rounds):
            work_through(small, large)
            shown.advance(task)
    figures: dict[str, object] = {
        "rows": options.rows,
        "rows_small": SMALL_ROWS,
        "done": options.done,
        "rounds": rounds,
    }
    bars = []
    for step, measure, name in STEPS:
        found, spread = _compare(small.seconds[step], large.seconds[step], measure)
        figures[step] = found | {f"{name}_ratio": spread.as_json()}
        say(f"{step:7} {found}, {name} ratio {spread}")
        bar = f"{step}: {name} within {RATIO_MAX} x of 100 k"
        bars.append(Bar(bar, spread.median <= RATIO_MAX, str(spread)))
    return conclude("claim", figures, bars)


def _pending(rows: int, done: float) -> int:
    return rows - int(rows * done)


def _compare(
    small: list[list[float]], large: list[list[float]], measure: Measure
) -> tuple[dict[str, float], Spread]:
    found = {}
    for name, rounds in (("small", small), ("large", large)):
        everything = [seconds for one in rounds for seconds in one]
        found[f"{name}_p50_ms"] = round(1_000 * median(everything), 2)
        found[f"{name}_p99_ms"] = round(1_000 * p99(everything), 2)
    return found, ratios([measure(one) for one in large], [measure(one) for one in small])


if __name__ == "__main__":
    sys.exit(main())

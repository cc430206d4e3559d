"""What every suite may use: real Postgres, a clock that is set, samples by name."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from local.postgres import Postgres, start_postgres
from local.processes import Processes
from sluice.adapters.postgres.access import parameters_of
from sluice.adapters.postgres.audit import Audit
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.claims import Claims
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.conversations import Conversations
from sluice.adapters.postgres.erasures import Erasures
from sluice.adapters.postgres.holdings import Holdings
from sluice.adapters.postgres.limits import Limits
from sluice.adapters.postgres.loads import Loads
from sluice.adapters.postgres.media import Media
from sluice.adapters.postgres.migrate import migrate
from sluice.adapters.postgres.orders import Orders
from sluice.adapters.postgres.picks import Picks
from sluice.adapters.postgres.reconciliations import Reconciliations
from sluice.adapters.postgres.reports import Reports
from sluice.adapters.postgres.resends import Resends
from sluice.adapters.postgres.retention import Retention
from sluice.adapters.postgres.saved_audiences import SavedAudiences
from sluice.adapters.postgres.signals import Signals
from sluice.adapters.postgres.silences import Silences
from sluice.adapters.postgres.stages import Stages
from sluice.adapters.postgres.statuses import Statuses
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.postgres.suppression_lists import SuppressionLists
from sluice.adapters.postgres.suppressions import Suppressions
from sluice.adapters.postgres.templates import Templates
from sluice.domain.audience import AudienceRow, Position
from sluice.domain.claim import Claimed, Key
from sluice.domain.gate import OPEN_GATE, Gate
from sluice.domain.requests import CampaignRequest, request_hash
from sluice.domain.suppressions import Suppression
from sluice.domain.topup import PickedChunk

EVENTS = Path(__file__).parent.parent / "events"
NUMBER = "106540352242922"
OTHER_NUMBER = "106540352242923"
NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
LANES = {
    "conversation": {"send_rate": 15.2, "messages_at_once": 6},
    "bulk": {"send_rate": 76.0, "messages_at_once": 16},
}
"""Of a number with a cap of 80, as dispatch reads them."""


@dataclass
class SetClock:
    """A clock that only moves when it is told to, or slept on."""

    moment: datetime = NOW
    slept: list[float] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    """What happens elsewhere while somebody sleeps."""

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return (self.moment - NOW).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))
        self.meanwhile()

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(scope="session")
def load_event() -> Callable[[str], dict[str, Any]]:
    """``load_event("webhook/statuses")`` reads the sample of that name."""
    return lambda name: json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    with (
        tempfile.TemporaryDirectory(prefix="sluice-tests-") as directory,
        Processes(Path(directory)) as running,
    ):
        yield running


@pytest.fixture(scope="session")
def postgres(processes: Processes) -> Iterator[Postgres]:
    """A server with a migrated template, so that each test has a database of its own at once."""
    with tempfile.TemporaryDirectory(prefix="sluice-postgres-") as directory:
        Path(directory).chmod(0o755)
        server = start_postgres(processes, run_directory=Path(directory))
        database = connect(server.create_database("template"))
        migrate(database)
        database.close()
        yield server
        processes.stop(server.process)


_names = count()


@pytest.fixture
def database_url(postgres: Postgres) -> Iterator[str]:
    name = f"test_{next(_names)}"
    yield postgres.create_database(name, template="template")
    postgres.drop_database(name)


def connect(url: str) -> Database:
    """A connection of its own to the database."""
    return Database(parameters_of(url, with_iam=False, client=lambda _: None))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = connect(database_url)
    yield database
    database.close()


class World:
    """A database with numbers in it, and shorthands for what tests do with it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.audit = Audit(database)
        self.campaigns = Campaigns(database)
        self.claims = Claims(database, phone_number_id=NUMBER, lane="bulk")
        self.conversations = Conversations(database)
        self.erasures = Erasures(database)
        self.holdings = Holdings(database)
        self.limits = Limits(database)
        self.loads = Loads(database)
        self.media = Media(database)
        self.picks = Picks(database)
        self.reconciliations = Reconciliations(database)
        self.reports = Reports(database)
        self.resends = Resends(database)
        self.saved = SavedAudiences(database)
        self.retention = Retention(database)
        self.signals = Signals(database)
        self.stages = Stages(database)
        self.silences = Silences(database)
        self.statuses = Statuses(database)
        self.orders = Orders(database)
        self.stops = Stops(database)
        self.suppressions = Suppressions(database)
        self.suppression_lists = SuppressionLists(database)
        self.templates = Templates(database)
        self.configure()

    def in_force(self) -> list[Suppression]:
        """Every suppression in force, by key and scope."""
        rows = self.database.fetch(
            "SELECT match_key, scope, reason, source, since FROM suppression"
            " WHERE NOT lifted ORDER BY match_key, scope"
        )
        return [Suppression(*row) for row in rows]

    def configure(self, **changes: Any) -> None:
        """Write both numbers as the configuration would."""
        self.picks.configure([
            {
                "phone_number_id": number,
                "account_id": "1",
                "portfolio_id": "1",
                "send_rate": 76.0,
                "lanes": LANES,
                "state": "active",
                **changes,
            }
            for number in (NUMBER, OTHER_NUMBER)
        ])  # fmt: skip

    def campaign(
        self,
        recipients: int = 3,
        *,
        name: str = "reminder",
        now: datetime = NOW,
        fixed: str | None = None,
        zones: Sequence[str | None] = (None,),
        large: bool = False,
        **changes: Any,
    ) -> int:
        """Publish and load a campaign with lines 1 to ``recipients``; returns its campaign_id.

        The recipients live in ``zones`` by turns; None is the campaign's own. A ``large`` one has
        partitions of its own.
        """
        request = CampaignRequest.model_validate_json(json.dumps({
            "campaign": name,
            "template": TEMPLATE,
            "numbers": [NUMBER],
            "audience": {"s3": "s3://audiences/people.csv"},
            **changes,
        }))  # fmt: skip
        hashed = request_hash(request)
        stored = self.campaigns.create(request, request_hash=hashed, now=now, large=large)
        rows = [
            AudienceRow(seq, f"+4915155{seq:06d}", {"name": f"Person {seq}"}, fixed, zone)
            for seq, zone in zip(range(1, recipients + 1), cycle(zones), strict=False)
        ]
        self.loads.store(
            stored.campaign_id,
            rows,
            start=Position(),
            end=Position(recipients, recipients),
            etag="etag",
        )
        self.loads.seal(stored.campaign_id, now=now)
        return stored.campaign_id

    def queue(
        self,
        campaign_id: int,
        rows: int = 100,
        *,
        number: str = NUMBER,
        now: datetime = NOW,
        gate: Gate = OPEN_GATE,
    ) -> list[PickedChunk]:
        """Pick for a number, as dispatch does."""
        with self.picks.round(now=now) as current:
            assert current is not None
            return current.pick(number, "bulk", campaign_id, rows=rows, size=100, gate=gate)

    def claim(
        self, campaign_id: int, seqs: Sequence[int] = (1, 2, 3), *, now: datetime = NOW
    ) -> tuple[Claimed, ...]:
        """Claim as this number's sender."""
        keys = [Key(campaign_id, seq) for seq in seqs]
        return self.claims.claim(keys, now=now, lease=now + timedelta(seconds=60)).rows

    def sending(self, recipients: int = 3, **changes: Any) -> tuple[int, tuple[Claimed, ...]]:
        """Publish, queue and claim a campaign: (campaign_id, claimed rows)."""
        campaign_id = self.campaign(recipients, **changes)
        self.queue(campaign_id, recipients)
        return campaign_id, self.claim(campaign_id, range(1, recipients + 1))

    def row(self, campaign_id: int, seq: int = 1) -> dict[str, Any]:
        """A delivery, column to value."""
        columns = ("state", "status", "attempt", "phone_number_id", "due_at", "error_code",
                   "accepted_at", "sent_at", "delivered_at", "read_at", "failed_at",
                   "country_code", "pricing")  # fmt: skip
        rows = self.database.fetch(
            f"SELECT {', '.join(columns)} FROM delivery WHERE campaign_id = %s AND seq = %s",
            (campaign_id, seq),
        )
        return dict(zip(columns, rows[0], strict=True))

    def states(self, campaign_id: int) -> dict[str, int]:
        """How many deliveries stand in each state, counted from the rows themselves."""
        return dict(
            self.database.fetch(
                "SELECT state::text, count(*) FROM delivery WHERE campaign_id = %s GROUP BY 1",
                (campaign_id,),
            )
        )

    def counters_equal_rows(self) -> bool:
        """Whether the counters say what the rows say."""
        counted = self.database.fetch(
            "SELECT campaign_id, coalesce(phone_number_id, ''), state, status, count(*)"
            " FROM delivery GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
        )
        kept = self.database.fetch(
            "SELECT campaign_id, phone_number_id, state, status, sum(deliveries)::bigint"
            " FROM campaign_counter GROUP BY 1, 2, 3, 4 HAVING sum(deliveries) <> 0"
            " ORDER BY 1, 2, 3, 4"
        )
        return counted == kept


TEMPLATE = {
    "name": "vaccination_reminder",
    "language": "en_US",
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "{{name}}"}]}],
}


@pytest.fixture
def world(database: Database) -> World:
    return World(database)

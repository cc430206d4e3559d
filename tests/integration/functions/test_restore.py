"""A database that is older than what was sent, and the journal that tells it."""

import io
import subprocess
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace

import pytest
from aws_lambda_powertools import Logger

from functions.restore.handler import QUESTION, handle
from local.cloud_api import ledger
from sluice.adapters.journal import JournaledClaims, JournalReader
from sluice.adapters.postgres.restorations import Restorations
from sluice.domain.claim import Key
from sluice.domain.outcomes import Failed, Unknown
from sluice.domain.restoration import IDS_SKIPPED
from tests.conftest import NOW, NUMBER, SetClock
from tests.integration.functions.ports import Telemetry, samples
from tests.integration.roads import RunningClock, accepted, send, tell

GROUP = f"/sluice/test/send-{NUMBER}-bulk"
BEGAN = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
_loggers = count()


class Log:
    """A sender's log, as CloudWatch keeps it; real time, which it insists on."""

    def __init__(self, client):
        self.client, self.stream = client, io.StringIO()
        client.create_log_group(logGroupName=GROUP)
        client.create_log_stream(logGroupName=GROUP, logStreamName="environment")
        name = f"journal-{next(_loggers)}"
        self.logger = Logger(service=name, stream=self.stream, level="INFO")

    def ship(self, at):
        """What was written since the last time, as of that moment."""
        lines = self.stream.getvalue().splitlines()
        self.stream.truncate(0)
        self.stream.seek(0)
        stamp = int(at.timestamp() * 1000)
        events = [{"timestamp": stamp, "message": line} for line in lines]
        if events:
            self.client.put_log_events(
                logGroupName=GROUP, logStreamName="environment", logEvents=events
            )
        return lines


@pytest.fixture
def log(aws, world):
    log = Log(aws.client("logs"))
    world.claims = JournaledClaims(world.claims, log.logger, phone_number_id=NUMBER)
    return log


@pytest.fixture
def today():
    """Now: CloudWatch takes no older lines."""
    return datetime.fromtimestamp(int(time.time()), UTC)


@pytest.fixture
def restore(world, aws):
    telemetry = Telemetry()

    def run(event, *, seconds=900.0, now=NOW):
        clock = SetClock(now)
        return handle(
            event,
            journal=JournalReader(aws.client("logs"), prefix="/sluice/test/send-"),
            restorations=Restorations(world.database),
            telemetry=telemetry,
            clock=clock,
            deadline=clock.monotonic() + seconds,
        )

    return SimpleNamespace(run=run, telemetry=telemetry)


@pytest.fixture
def backup(postgres, database_url, tmp_path):
    """Dumps the database, and puts it back as it was then."""
    name, file = database_url.rpartition("/")[2], tmp_path / "backup"
    programs = postgres.programs / "bin"

    def dump():
        command = [programs / "pg_dump", "--format=custom", f"--file={file}", database_url]
        subprocess.run(command, check=True)

    def put_back():
        postgres.drop_database(name)
        postgres.create_database(name)
        command = [programs / "pg_restore", f"--dbname={database_url}", "--exit-on-error", file]
        subprocess.run(command, check=True)

    return SimpleNamespace(dump=dump, put_back=put_back)


def told(restored_to, upto):
    return {"restored_to": restored_to.isoformat(), "upto": upto.isoformat()}


@pytest.mark.parametrize("sample", samples("restore"))
def test_a_sample_without_a_journal_holds_every_campaign_and_ends(
    restore, world, aws, load_event, sample
):
    world.campaign(3)

    answer = restore.run(load_event(f"restore/{sample}"))

    assert answer["finished"]
    assert (answer["accepted"], answer["doubted"], answer["missing"]) == (0, 0, {})
    assert answer["held"] == ["reminder"]
    assert restore.telemetry.facts("held") == [1]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"restored_to": "yesterday", "upto": "2026-03-01T08:00:00Z"},
        {"restored_to": "2026-03-01T07:00:00", "upto": "2026-03-01T08:00:00Z"},
        {"restored_to": "2026-03-01T08:00:00Z", "upto": "2026-03-01T08:00:00Z"},
        {"restored_to": "2026-03-01T08:00:00Z", "upto": "2026-03-01T19:00:00Z"},
    ],
)
def test_times_that_cannot_be_meant_change_nothing(restore, world, event):
    campaign_id = world.campaign(3)

    assert restore.run(event) == {"problem": QUESTION}
    assert len(world.queue(campaign_id)) == 1


def test_a_campaign_goes_on_after_a_restore_and_nobody_is_sent_to_twice(
    restore, world, graph, log, backup, today
):
    """Dumped with people sent to, queued and waiting; sent to more of each; restored; gone on."""
    graph.tell("config", numbers={NUMBER: {"messages_per_second": 1_000}})
    url, clock = f"{graph.url}/v25.0", RunningClock()
    campaign_id = world.campaign(100, unknown_policy="leave")
    before = len(ledger.requests(graph.ledger))
    send(world, url, campaign_id, rows=30, clock=clock)
    world.queue(campaign_id, 20)  # their chunk is in the queue
    log.ship(today - timedelta(minutes=31))
    backup.dump()
    send(world, url, keys=[Key(campaign_id, seq) for seq in range(31, 51)], clock=clock)
    send(world, url, campaign_id, rows=20, clock=clock)
    # A sender that dies after its requests left, before it could record anything.
    world.queue(campaign_id, 10)
    assert len(world.claim(campaign_id, range(71, 81))) == 10
    log.ship(today - timedelta(minutes=25))

    backup.put_back()
    assert world.states(campaign_id) == {"done": 30, "queued": 20, "pending": 50}
    answer = restore.run(told(today - timedelta(minutes=30), today), now=today)

    assert (answer["finished"], answer["accepted"], answer["doubted"]) == (True, 40, 10)
    assert (answer["missing"], answer["held"]) == ({}, ["reminder"])
    assert world.states(campaign_id) == {"done": 70, "unknown": 10, "pending": 20}
    assert world.counters_equal_rows()
    assert send(world, url, campaign_id, rows=100, clock=clock).started == 0, "it is held"

    assert world.orders.command_campaign("reminder", state="running", reason=None) == "running"
    send(world, url, campaign_id, rows=100, clock=clock)
    assert world.states(campaign_id) == {"done": 90, "unknown": 10}
    sent = [one.opaque_id for one in ledger.requests(graph.ledger)[before:]]
    assert len(sent) == 90
    assert len({one.rpartition(":")[0] for one in sent}) == 90


def test_a_late_status_settles_what_is_doubted_and_what_the_journal_does_not_know(
    restore, world, log, backup, today
):
    campaign_id = world.campaign(3)
    backup.dump()
    world.queue(campaign_id, 1)
    world.claim(campaign_id, [1])
    log.ship(today - timedelta(minutes=5))
    backup.put_back()
    restore.run(told(today - timedelta(minutes=10), today), now=today)
    assert world.states(campaign_id) == {"unknown": 1, "pending": 2}

    failure = {"code": 131026, "title": "Message undeliverable"}
    tell(world, campaign_id, failure, failure, clock=SetClock(today))

    assert world.states(campaign_id) == {"done": 2, "pending": 1}
    assert world.row(campaign_id, 2)["attempt"] == 1


def test_what_went_to_nobody_is_sent_after_all(restore, world, log, backup, today):
    campaign_id = world.campaign(3)
    backup.dump()
    world.queue(campaign_id)
    one, other, third = world.claim(campaign_id)
    accepted(world, [one], outcome=Failed(131026, "no"))
    accepted(world, [other], outcome=Unknown("read timeout"))
    accepted(world, [third])
    log.ship(today - timedelta(minutes=5))
    backup.put_back()

    answer = restore.run(told(today - timedelta(minutes=10), today), now=today)

    assert (answer["accepted"], answer["doubted"]) == (1, 1)
    assert world.states(campaign_id) == {"pending": 1, "unknown": 1, "done": 1}
    assert world.row(campaign_id, 1)["state"] == "pending"


def test_a_result_that_comes_in_a_later_slice_settles_the_claim(restore, world, log, backup, today):
    campaign_id = world.campaign(2)
    backup.dump()
    world.queue(campaign_id)
    one, other = world.claim(campaign_id, [1, 2])
    log.ship(today - timedelta(minutes=20))
    accepted(world, [one])
    accepted(world, [other], outcome=Failed(131026, "no"))
    log.ship(today - timedelta(minutes=8))
    backup.put_back()
    order = told(today - timedelta(minutes=21), today)

    halted = restore.run(order, seconds=0.0, now=today)
    answer = restore.run(order, now=today)

    assert not halted["finished"]
    assert answer["finished"]
    assert world.states(campaign_id) == {"done": 1, "pending": 1}
    assert world.counters_equal_rows()


def test_an_order_that_is_carried_out_again_changes_and_holds_nothing(
    restore, world, log, backup, today
):
    campaign_id = world.campaign(2)
    backup.dump()
    world.queue(campaign_id, 1)
    accepted(world, world.claim(campaign_id, [1]))
    log.ship(today - timedelta(minutes=5))
    backup.put_back()
    order = told(today - timedelta(minutes=10), today)
    first = restore.run(order, now=today)
    world.orders.command_campaign("reminder", state="running", reason=None)

    again = restore.run(order, now=today)

    assert again == first | {"held": []}
    assert world.states(campaign_id) == {"done": 1, "pending": 1}


def test_what_is_delivered_stays_so(restore, world, log, today):
    campaign_id = world.campaign(1)
    world.queue(campaign_id)
    world.claim(campaign_id, [1])
    log.ship(today - timedelta(minutes=5))
    world.database.fetch("UPDATE delivery SET state = 'done', status = 'read', attempt = 0")

    restore.run(told(today - timedelta(minutes=10), today), now=today)

    assert world.row(campaign_id)["status"] == "read"


def test_a_campaign_that_the_backup_does_not_have_is_told_and_its_id_is_nobody_s(
    restore, world, log, backup, today
):
    first = world.campaign(1, name="first")
    backup.dump()
    lost = world.campaign(3, name="lost")
    world.queue(lost)
    world.claim(lost)
    log.ship(today - timedelta(minutes=5))
    backup.put_back()

    answer = restore.run(told(today - timedelta(minutes=10), today), now=today)

    assert answer["missing"] == {str(lost): 3}
    assert world.campaign(1, name="later") == first + IDS_SKIPPED + 1
    assert world.campaign(1, name="large", large=True) > 1_000_000_000 + IDS_SKIPPED


def test_a_finished_campaign_that_was_sent_again_meanwhile_is_open_and_held(
    restore, world, log, today
):
    campaign_id = world.campaign(1)
    world.queue(campaign_id)
    world.claim(campaign_id, [1])
    log.ship(today - timedelta(minutes=5))
    world.database.fetch("UPDATE delivery SET state = 'expired', due_at = NULL, attempt = 0")
    world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = now()")

    answer = restore.run(told(today - timedelta(minutes=10), today), now=today)

    assert (answer["doubted"], answer["held"]) == (1, ["reminder"])
    assert world.states(campaign_id) == {"unknown": 1}
    assert world.database.fetch("SELECT finished_at FROM campaign") == [(None,)]


def test_a_pause_of_meta_s_stays_meta_s_to_end(restore, world, today):
    world.campaign(1)
    world.stops.pause_template(
        "1", name="vaccination_reminder", language=None, reason="template paused: low quality"
    )

    answer = restore.run(told(today - timedelta(minutes=10), today), now=today)

    assert answer["held"] == []
    assert world.stops.resume_template("1", name="vaccination_reminder", language=None) == 1


def test_people_who_were_written_to_count_as_contacted(restore, world, log, backup, today):
    campaign_id = world.campaign(2, category="marketing")
    backup.dump()
    world.queue(campaign_id)
    accepted(world, world.claim(campaign_id, [1, 2]))
    log.ship(today - timedelta(minutes=5))
    backup.put_back()

    restore.run(told(today - timedelta(minutes=10), today), now=today)

    assert world.database.fetch("SELECT count(*), bool_and(marketing) FROM contact") == [(2, True)]

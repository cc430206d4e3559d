"""After a campaign: who failed is tried again, figures are handed out, people are forgotten."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from local.cloud_api import ledger
from local.judge.aftermath import Aftermath, aftermath_checks
from local.judge.books import gather
from local.judge.checks import Expected
from local.judge.judgement import Outcome, checks_before
from local.scenarios import exported
from local.scenarios.model import Scenario
from local.scenarios.people import addresses, known_by, people
from local.scenarios.play import FIRST_NUMBER, Play, sample_request
from local.scenarios.weather import LEAVE, MISHAPS

CAMPAIGN: Final = "vaccination"
SCHEDULE: Final = "weekly"
EXPRESSION: Final = "cron(0 8 ? 1 MON 2199)"
"""Far away: EventBridge Scheduler is played by hand, because the local one fills nothing in."""
PEOPLE: Final = 1_500
GIVEN_UP: Final = slice(10, PEOPLE, 30)
REFUSED: Final = slice(11, PEOPLE, 90)
UNREACHABLE: Final = slice(12, PEOPLE, 45)
FORGOTTEN: Final = 5
"""The place in the audience of a person who asks to be erased."""
WEEKLY: Final = slice(0, 200)
CALLED: Final = "+447700900997"
DEAD: Final[Mapping[str, Any]] = {
    "kind": "send",
    "id": "visit-17",
    "phone_number_id": FIRST_NUMBER,
    "lane": "conversation",
    "recipients": [{"address": CALLED}],
    "message": {"type": "text", "text": {"body": "Doctor Núñez will call you."}},
}
TABLES: Final = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""
KEPT_TABLES: Final = ("delivery", "recipient", "message", "rejected", "delivery_error")


def story(play: Play) -> Outcome:
    """Send, send again, hand out, start again by the clock, and forget."""
    everybody = people()[:PEOPLE]
    request = {
        **sample_request(campaign=CAMPAIGN),
        **LEAVE,
        "max_attempts": 1,
        "audience": play.audience(CAMPAIGN, everybody),
    }
    for _ in range(2):
        play.publish(request)
    play.over(CAMPAIGN)
    seen = {
        **send_again(play),
        **redrive(play),
        **hand_out(play),
        **start_by_the_clock(play),
    }
    expected = Expected(CAMPAIGN, len(everybody), 0)
    weekly = Expected(_start(play)["campaign"], len(everybody[WEEKLY]), 0)
    books = gather(play.system, [CAMPAIGN, weekly.campaign])
    before = checks_before("before anything is forgotten", books, (expected, weekly))
    seen |= {**forget_a_person(play), **delete(play, request)}
    return Outcome((weekly,), (*before, *aftermath_checks(Aftermath(**seen))))


def send_again(play: Play) -> dict[str, Any]:
    """Ask what sending again would come to, order it, and order it once more."""
    everybody = people()
    may_pass = addresses(everybody[GIVEN_UP]) + addresses(everybody[REFUSED])
    preview = play.ask(campaign=CAMPAIGN, resend="failed_retryable")
    before = len(play.requests(CAMPAIGN, accepted=False))
    order = {"campaign": CAMPAIGN, "id": "once-more", "scope": "failed_retryable"}
    play.order("resend", **order)
    play.until(
        "they are sent to again",
        lambda: len(play.requests(CAMPAIGN, accepted=False)) >= before + len(may_pass),
    )
    play.over(CAMPAIGN)
    sent = [one.recipient for one in play.requests(CAMPAIGN, accepted=False)[before:]]
    play.order("resend", **order)
    play.pause(5.0)
    after = len(play.requests(CAMPAIGN, accepted=False)) - before - len(sent)
    return {
        "retryable": may_pass,
        "previewed": preview["deliveries"],
        "previewed_codes": {one["code"]: one["deliveries"] for one in preview["by_code"]},
        "failed_codes": {131000: len(may_pass)},
        "sent_again": sent,
        "sent_after_the_order_came_again": after,
    }  # fmt: skip


def redrive(play: Play) -> dict[str, Any]:
    """Let a message lie dead that a function gave up, as SQS moves it there."""
    deployment, queues = play.system.deployment, play.system.aws.client("sqs")
    attributes = {
        name: {"DataType": "String", "StringValue": DEAD[name]}
        for name in ("kind", "phone_number_id", "lane")
    }
    dead = deployment.queue_urls[f"send-{FIRST_NUMBER}-conversation-dead"]
    queues.send_message(QueueUrl=dead, MessageBody=json.dumps(DEAD), MessageAttributes=attributes)
    play.ring("redrive")

    def sent() -> int:
        return sum(one.recipient == CALLED for one in play.requests())

    play.until("the dead letter is sent", sent)
    return {"redriven": sent()}


def hand_out(play: Play) -> dict[str, Any]:
    """Export the campaign, and ask for its details."""
    for _ in range(2):
        play.publish({"kind": "export", "campaign": CAMPAIGN})
    found = play.until("the export", lambda: exported.files(play.system, f"{CAMPAIGN}/"))
    report = play.ask(campaign=CAMPAIGN, details=True)
    told = ledger.acknowledged_by_wamid(play.system.api.ledger)
    requests = play.requests(CAMPAIGN, accepted=False)
    truth = exported.truth_of(requests, told, report["campaign_id"])
    statuses = Counter(one.status for one in truth.values())
    return {
        "csv": exported.csv_rows(found),
        "parquet": exported.parquet_rows(found),
        "manifest_rows": exported.manifest_rows(found),
        "truth": truth,
        "errors": {
            one["code"]: one["deliveries_ended"]
            for one in report["details"]["errors"]
            if one["deliveries_ended"]
        },
        "ended": _ended(truth, told),
        "delivered": report["statuses"]["delivered"] + report["statuses"]["read"],
        "delivered_truth": statuses["delivered"] + statuses["read"],
    }


def _ended(truth: Mapping[str, Any], told: Mapping[str, Any]) -> dict[int, int]:
    codes: Counter[int] = Counter()
    for one in truth.values():
        if one.status == "failed":
            codes[next(status.code for status in told[one.wamid] if status.status == "failed")] += 1
    return dict(codes)


def start_by_the_clock(play: Play) -> dict[str, Any]:
    """Put a schedule, tell twice that it is due, and drop it."""
    sample = sample_request(campaign="")
    campaign = {name: sample[name] for name in ("template", "numbers", "category")}
    campaign["audience"] = play.audience(SCHEDULE, people()[WEEKLY])
    play.publish(
        {"kind": "schedule", "action": "put", "id": SCHEDULE, "revision": 1,
         "expression": EXPRESSION, "time_zone": "Africa/Nairobi", "campaign": campaign}
    )  # fmt: skip
    play.until("the schedule is put", lambda: play.ask(schedule=SCHEDULE).get("state") == "active")
    scheduler = play.system.aws.client("scheduler")
    kept = [scheduler.get_schedule(Name=one["Name"], GroupName=one["GroupName"])
            for one in scheduler.list_schedules()["Schedules"]]  # fmt: skip
    at = f"{datetime.fromtimestamp(int(time.time()), UTC):%Y-%m-%dT%H:%M:%SZ}"
    due = json.dumps({"kind": "schedule", "action": "start", "id": SCHEDULE, "at": at})
    for _ in range(2):
        play.system.aws.client("sqs").send_message(
            QueueUrl=play.system.deployment.queue_urls["schedule"], MessageBody=due
        )
    play.until("it has started", lambda: _start(play).get("campaign_state"))
    play.publish({"kind": "schedule", "action": "drop", "id": SCHEDULE})
    play.over(_start(play)["campaign"])
    return {
        "scheduled_at_aws": [one["ScheduleExpression"] for one in kept] == [EXPRESSION],
        "started": len(play.ask(schedule=SCHEDULE)["starts"]),
    }


def _start(play: Play) -> dict[str, Any]:
    starts = play.ask(schedule=SCHEDULE)["starts"]
    return dict(starts[0]) if starts else {}


def forget_a_person(play: Play) -> dict[str, Any]:
    """Erase somebody to whom two campaigns were sent."""
    address = people()[FORGOTTEN]["address"]
    before = _naming(play, known_by(address))
    play.publish({"kind": "erase", "id": "asked-by-letter", "address": address})
    _erased(play, "asked-by-letter")
    return {"person_before": sum(before.values()), "person_after": _naming(play, known_by(address))}


def _naming(play: Play, digits: str) -> dict[str, int]:
    """How many rows of each table have the digits anywhere in them."""
    tables = [table for (table,) in play.rows(TABLES)]
    return {table: _rows(play, [table], f"{table}::text LIKE %s", f"%{digits}%")[table]
            for table in tables}  # fmt: skip


def _rows(play: Play, tables: Iterable[str], where: str, *parameters: object) -> dict[str, int]:
    """How many rows of each table are so."""
    query = "SELECT count(*) FROM {} WHERE {}"
    return {table: play.rows(query.format(table, where), *parameters)[0][0] for table in tables}


def delete(play: Play, request: Mapping[str, Any]) -> dict[str, Any]:
    """Erase the campaign, and publish it again."""
    campaign_id = play.report(CAMPAIGN)["campaign_id"]
    states = _states(play)
    play.publish({"kind": "erase", "id": "campaign-is-over", "campaign": CAMPAIGN})
    _erased(play, "campaign-is-over")
    requests = len(play.requests())
    play.publish(request)
    play.pause(10.0)
    rows = _rows(play, KEPT_TABLES, "campaign_id = %s", campaign_id)
    return {
        "rows_after": rows,
        "counters_before": states,
        "counters_after": _states(play),
        "sent_after_deletion": len(play.requests()) - requests,
    }


def _states(play: Play) -> dict[str, int]:
    return dict(play.report(CAMPAIGN)["states"])


def _erased(play: Play, erasure: str) -> None:
    play.until(erasure, lambda: play.ask(erase=erasure).get("state") == "erased", seconds=150)


AFTERMATH: Final = Scenario(
    "aftermath",
    "who failed is tried again, figures are handed out, a schedule starts, people are forgotten",
    story,
    simulation={
        **MISHAPS,
        "rules": [
            *({"recipient": one, "code": 131000, "asynchronous": True, "sent_first": True,
               "attempts": [1]} for one in addresses(people()[GIVEN_UP])),
            *({"recipient": one, "code": 131000, "http_status": 500, "attempts": [1]}
              for one in addresses(people()[REFUSED])),
            *({"recipient": one, "code": 131026, "asynchronous": True}
              for one in addresses(people()[UNREACHABLE])),
        ],
    },
)  # fmt: skip

"""campaign.handle on real Postgres: audiences of the request, of CSV and of NDJSON, once each."""

import json

import pytest

from sluice.adapters.audience import Audiences
from sluice.adapters.postgres.partitions import APART_FROM
from sluice.steps.campaign import start
from tests.conftest import NUMBER
from tests.integration.functions.ports import event_of, failed, parked, reasons

FILE = "vaccination-2026-12-all"


def published(load_event, **changes):
    """The CSV campaign with changes, as an event."""
    body = json.loads(load_event("campaign/s3")["Records"][0]["body"])
    return event_of(body | changes, kind="campaign")


def loaded(world):
    """Everything that loads have stored."""
    return [
        world.database.fetch("SELECT seq, address, parameters FROM recipient ORDER BY 1, 2"),
        world.database.fetch("SELECT line, reason FROM rejected ORDER BY 1, 2"),
        world.database.fetch("SELECT seq, state, phone_number_id FROM delivery ORDER BY 1, 2"),
        world.database.fetch("SELECT loaded_rows, loaded_bytes FROM campaign"),
    ]


def test_an_inline_audience_is_loaded_and_dispatch_is_woken(campaign, world, load_event):
    campaign.run(load_event("campaign/inline"))

    report = world.reports.campaign("vaccination-2026-12")
    assert report["loaded_at"] is not None
    assert world.states(report["campaign_id"]) == {"pending": 3}
    assert campaign.waker.wakes == 1


def test_a_csv_of_s3_is_loaded_line_by_line(csv, campaign, world, load_event):
    campaign.run(load_event("campaign/s3"))

    report = world.reports.campaign(FILE)
    recipients = world.states(report["campaign_id"])["pending"]
    assert report["loaded_rows"] == csv.count(b"\n")
    assert recipients > 2000
    assert report["rejected"] > 0
    assert world.counters_equal_rows()


def test_ndjson_of_s3_is_loaded_and_a_line_may_fix_its_number(campaign, world, load_event):
    campaign.run(load_event("campaign/s3_ndjson"))

    rows = world.database.fetch(
        "SELECT seq, number_fixed, phone_number_id FROM delivery ORDER BY 1"
    )
    assert rows == [(1, False, None), (2, True, NUMBER), (3, False, None), (4, False, None)]


@pytest.mark.parametrize("uri", ["s3://audiences/missing.csv", "s3://nobody/people.csv"])
def test_a_campaign_without_its_file_is_parked_and_not_stored(
    campaign, world, aws, load_event, uri
):
    campaign.run(published(load_event, audience={"s3": uri}))

    assert reasons(aws) == [f"audience.s3: {uri} does not exist or may not be read"]
    assert world.database.fetch("SELECT count(*) FROM campaign") == [(0,)]


def test_a_bad_header_is_parked_with_everything_that_is_wrong(campaign, world, aws, load_event):
    aws.put("s3://audiences/vaccination.csv", b"phone,name,name\n+12025550101,Ada,Ada\n")

    campaign.run(load_event("campaign/s3"))

    assert reasons(aws) == [
        "audience: the header has no column address",
        "audience: the header has no column clinic",
        "audience: the header has no column date",
        "audience: the header names a column twice",
    ]
    assert world.database.fetch("SELECT count(*) FROM campaign") == [(0,)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\xff\xfe,name\n",
        b"address,name,clinic,date\r+12025550101,Ada,City,Monday\r",
        b"x" * 3_000_000,
    ],
    ids=["empty", "blank", "not_utf8", "old_line_ends", "one_huge_line"],
)
def test_a_file_that_has_no_header_is_parked(campaign, aws, load_event, content):
    aws.put("s3://audiences/vaccination.csv", content)

    answer = campaign.run(load_event("campaign/s3"))

    assert not failed(answer)
    assert reasons(aws)


def test_a_file_of_a_header_alone_is_a_campaign_for_nobody(campaign, world, aws, load_event):
    aws.put("s3://audiences/vaccination.csv", b"address,name,clinic,date\n")

    campaign.run(load_event("campaign/s3"))

    assert world.reports.campaign(FILE)["loaded_at"] is not None
    assert world.database.fetch("SELECT count(*) FROM delivery") == [(0,)]


def test_a_load_that_runs_out_of_time_resumes_to_exactly_the_same_rows(
    campaign, world, aws, load_event, monkeypatch
):
    campaign.run(load_event("campaign/s3"))
    at_once = loaded(world)
    world.database.fetch("TRUNCATE campaign, recipient, rejected, delivery, campaign_counter")
    monkeypatch.setattr("sluice.steps.campaign.segments.LOAD_SEGMENT_ROWS", 300)

    tries = 1
    while failed(campaign.run(load_event("campaign/s3"), seconds=30)):
        tries += 1

    assert tries > 10
    assert loaded(world) == at_once
    assert world.counters_equal_rows()
    assert parked(aws) == []
    assert campaign.telemetry.facts("in_seconds") == [1] * (tries - 1)


def test_a_load_whose_audience_changed_meanwhile_pauses_the_campaign(
    csv, campaign, world, aws, load_event
):
    assert failed(campaign.run(load_event("campaign/s3"), seconds=30))
    aws.put("s3://audiences/vaccination.csv", csv + b"+12025550101,Ada,City,Monday,\n")

    assert not failed(campaign.run(load_event("campaign/s3")))

    report = world.reports.campaign(FILE)
    reason = "the audience changed while it was loading"
    assert (report["state"], report["reason"], report["loaded_at"]) == ("paused", reason, None)
    assert reasons(aws) == [reason]


def test_an_audience_that_changes_while_it_is_opened_is_looked_at_again(
    csv, campaign, aws, load_event
):
    class Changing(Audiences):
        opened = 0

        def lines(self, uri, *, etag, offset):
            self.opened += 1
            if self.opened == 2:
                aws.put(uri, csv + b"\n")
            return super().lines(uri, etag=etag, offset=offset)

    answer = campaign.run(load_event("campaign/s3"), audiences=Changing(aws.client("s3")))

    assert failed(answer)
    assert parked(aws) == []


def test_a_loader_that_another_one_overtook_stops(campaign, world, load_event):
    original = world.loads

    class Overtaken:
        def store(self, *args, **kwargs):
            world.database.fetch("UPDATE campaign SET loaded_rows = 9")
            return original.store(*args, **kwargs)

    world.loads = Overtaken()

    answer = campaign.run(load_event("campaign/inline"))

    assert failed(answer)
    assert campaign.telemetry.facts("reason") == ["another loader is at work"]
    assert world.database.fetch("SELECT count(*) FROM delivery") == [(0,)]


def test_people_keep_the_time_zone_that_the_request_gives_them(campaign, world, load_event):
    campaign.run(load_event("campaign/send_window"))

    assert world.database.fetch("SELECT zones FROM campaign") == [
        (["America/Chicago", "America/New_York", "Europe/London"],)
    ]
    assert world.database.fetch("SELECT seq, zone FROM delivery ORDER BY 1") == [
        (1, 1),
        (2, 2),
        (3, 0),
    ]


def test_a_line_with_an_unknown_time_zone_is_rejected_with_its_reason(
    campaign, world, aws, load_event
):
    lines = "address,name,clinic,date,time_zone\n+12025550101,Ada,City,Monday,Gotham\n"
    aws.put("s3://audiences/vaccination.csv", lines.encode())
    window = {"send_window": {"opens": "09:00", "closes": "20:00"}, "time_zone": "UTC"}

    campaign.run(published(load_event, **window))

    (campaign_id,) = world.database.fetch("SELECT campaign_id FROM campaign")[0]
    assert world.reports.rejected(campaign_id, limit=5) == [
        (2, "time_zone is not the name of an IANA time zone")
    ]


PEOPLE = b"address,name,clinic,date\n" + b"".join(
    b"%s,Ada,City,Monday\n" % address
    for address in (b"+12025550101", b"+14165550101", b"+18765550101", b"+447700900102")
)


@pytest.mark.parametrize(
    ("changes", "rejected"),
    [
        ({"category": "marketing"}, 1),
        ({"category": "marketing", "us_marketing": "send"}, 0),
        ({"category": "utility"}, 0),
    ],
)
def test_marketing_leaves_out_numbers_of_the_united_states(
    campaign, world, aws, load_event, changes, rejected
):
    aws.put("s3://audiences/vaccination.csv", PEOPLE)

    campaign.run(published(load_event, **changes))

    (campaign_id,) = world.database.fetch("SELECT campaign_id FROM campaign")[0]
    reason = "marketing is not delivered to numbers of the United States"
    assert world.reports.rejected(campaign_id, limit=9) == [(2, reason)] * rejected
    assert world.states(campaign_id) == {"pending": 4 - rejected}


@pytest.mark.parametrize("apart_bytes", [10, 10_000_000])
def test_the_people_of_a_large_file_lie_apart(
    csv, campaign, world, load_event, monkeypatch, apart_bytes
):
    monkeypatch.setattr(start, "AUDIENCE_APART_BYTES", apart_bytes)

    campaign.run(load_event("campaign/s3"))

    campaign_id = world.reports.campaign(FILE)["campaign_id"]
    assert (campaign_id >= APART_FROM) is (apart_bytes == 10)
    assert world.states(campaign_id)["pending"] > 2_000
    assert world.counters_equal_rows()


def test_a_large_file_that_is_published_again_has_one_set_of_partitions(
    campaign, world, load_event, monkeypatch
):
    monkeypatch.setattr(start, "AUDIENCE_APART_BYTES", 10)

    campaign.run(load_event("campaign/s3"))
    before = loaded(world)
    campaign.run(load_event("campaign/s3"))

    assert loaded(world) == before
    parts = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'delivery'::regclass"
    assert world.database.fetch(parts) == [(2,)]

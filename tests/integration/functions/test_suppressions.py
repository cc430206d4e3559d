"""kind=suppressions through campaign.handle: lists that suppress and lift, and exports."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from functions.report.handler import handle as report
from sluice.adapters.audience import Audiences
from sluice.domain.limits import LOAD_SEGMENT_ROWS
from sluice.domain.suppressions import Suppression
from tests.conftest import NOW
from tests.integration.functions.ports import event_of, failed, reasons

URI = "s3://audiences/stopped.csv"
FIRST = "+12025550101"


def published(**changes):
    """A list, as an event."""
    body = {"kind": "suppressions", "id": "crm", "action": "suppress", "scope": "marketing"}
    return event_of(body | changes, kind="suppressions")


def everybody(world):
    """(key, scope) of every suppression in force."""
    return {(one.match_key, one.scope) for one in world.in_force()}


def test_listed_people_are_suppressed_under_every_way_to_write_them(campaign, world, load_event):
    campaign.run(load_event("campaign/suppress"))

    assert everybody(world) == {
        (FIRST, "marketing"),
        ("US.13491208655302741918", "marketing"),
        ("+5531988887777", "marketing"),
    }
    assert world.in_force()[0].reason == "asked by mail"


def test_listed_people_are_lifted_and_an_older_stop_brought_again_counts_no_more(
    campaign, world, clock, load_event
):
    campaign.run(load_event("campaign/suppress"))
    clock.advance(60)

    campaign.run(load_event("campaign/lift"))
    campaign.run(load_event("campaign/suppress"))

    assert (FIRST, "marketing") not in everybody(world)
    assert len(everybody(world)) == 2


def test_a_file_has_reasons_scopes_and_times_of_its_own(campaign, world, load_event):
    campaign.run(load_event("campaign/suppress_file"))

    told_at = datetime(2026, 2, 1, 9, tzinfo=UTC)
    assert world.in_force() == [
        Suppression(FIRST, "all", "asked by mail", "import crm-2026-12", told_at),
        Suppression("+5531988887777", "marketing", "imported", "import crm-2026-12", NOW),
        Suppression("US.13491208655302741918", "all", "imported", "import crm-2026-12", NOW),
    ]


def test_lines_that_name_nobody_are_counted_and_told_without_the_address(
    campaign, world, clock, load_event
):
    campaign.run(load_event("campaign/suppress_file"))

    told = report(
        {"suppressions": "crm-2026-12"},
        reports=world.reports,
        resends=None,
        messages=None,
        prices=None,
        clock=clock,
    )
    assert (told["state"], told["lines"], told["people"], told["rejected"]) == ("finished", 7, 3, 3)
    assert told["rejected_lines"] == [
        {"line": 5, "reason": "has no + and country code, and is no user id"},
        {"line": 6, "reason": "at is no time with an offset"},
        {"line": 7, "reason": "scope is none of marketing, all"},
    ]
    assert "2025550104" not in repr(told)


def test_a_report_of_nothing_says_so(world, clock):
    told = report(
        {"suppressions": "nothing"},
        reports=world.reports,
        resends=None,
        messages=None,
        prices=None,
        clock=clock,
    )

    assert told == {"problem": "there are no suppressions nothing"}


def test_a_list_published_twice_is_one(campaign, world, load_event):
    for _ in range(2):
        assert not failed(campaign.run(load_event("campaign/suppress_file")))

    assert world.reports.suppressions("crm-2026-12")["people"] == 3


def test_the_same_id_with_other_people_is_parked(campaign, aws):
    campaign.run(published(recipients=[FIRST]))

    campaign.run(published(recipients=["+12025550102"]))

    assert reasons(aws) == ["suppressions crm exist with another content"]


def test_a_list_that_is_longer_than_a_function_lives_goes_on_where_it_ended(
    campaign, world, aws, clock
):
    people = LOAD_SEGMENT_ROWS + 5
    lines = [f"+4477009{line:05d}" for line in range(people)]
    aws.put(URI, "\n".join(["address", *lines, "nobody"]).encode())

    first = campaign.run(published(s3=URI), seconds=30)
    assert failed(first) == ["message-0"]
    assert world.reports.suppressions("crm")["people"] == LOAD_SEGMENT_ROWS
    clock.advance(3600)
    assert not failed(campaign.run(published(s3=URI)))

    row = world.reports.suppressions("crm")
    assert (row["people"], row["rejected"], row["lines"]) == (people, 1, people + 2)
    assert {one.since for one in world.in_force()} == {NOW}
    assert len(everybody(world)) == people


def test_a_list_that_changes_while_it_loads_is_parked(campaign, aws):
    lines = [f"+4477009{line:05d}" for line in range(LOAD_SEGMENT_ROWS + 5)]
    aws.put(URI, "\n".join(["address", *lines]).encode())
    campaign.run(published(s3=URI), seconds=30)

    aws.put(URI, b"address\n+12025550101\n")
    campaign.run(published(s3=URI))

    assert reasons(aws) == ["the list changed while it was loading"]


def test_a_list_that_is_replaced_as_it_is_opened_comes_again(campaign, world, aws):
    class Replaced(Audiences):
        calls = 0

        def lines(self, uri, *, etag, offset):
            self.calls += 1
            return None if self.calls == 2 else super().lines(uri, etag=etag, offset=offset)

    aws.put(URI, b"address\n+12025550101\n")

    answer = campaign.run(published(s3=URI), audiences=Replaced(aws.client("s3")))

    assert failed(answer) == ["message-0"]
    assert everybody(world) == set()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, f"s3: {URI} does not exist or may not be read"),
        (b"number\n+12025550101\n", "audience: the header has no column address"),
    ],
)
def test_a_file_that_is_no_list_is_parked_and_may_be_mended(campaign, world, aws, content, reason):
    aws.client("s3").delete_object(Bucket="audiences", Key="stopped.csv")
    if content is not None:
        aws.put(URI, content)

    campaign.run(published(s3=URI))
    assert reasons(aws) == [reason]
    aws.put(URI, b"address\n+12025550101\n")
    campaign.run(published(s3=URI))

    assert everybody(world) == {(FIRST, "marketing")}


def test_a_suppression_of_everything_is_told_by_the_action_it_lacks(campaign, aws):
    campaign.run(event_of({"kind": "suppressions", "id": "a", "action": "wipe"}))

    assert reasons(aws) == ["action: is none of export, lift, suppress"]


EXPORTED = "s3://audiences/suppressions/2026-12-01.csv"


def content_of(aws, uri):
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()


def test_an_export_is_a_csv_that_an_import_takes_again(campaign, world, aws, clock, load_event):
    campaign.run(load_event("campaign/suppress"))
    campaign.run(published(recipients=[FIRST], scope="all", reason='asked, "in writing"'))
    before = world.in_force()

    campaign.run(load_event("campaign/export_suppressions"))

    rows = list(csv.DictReader(io.StringIO(content_of(aws, EXPORTED).decode())))
    assert list(rows[0]) == ["address", "scope", "reason", "source", "at"]
    assert len(rows) == 4
    world.database.fetch("DELETE FROM suppression")
    clock.advance(3600)
    campaign.run(published(id="back", s3=EXPORTED))
    after = world.in_force()
    assert [(one.match_key, one.scope, one.reason, one.since) for one in after] == [
        (one.match_key, one.scope, one.reason, one.since) for one in before
    ]


def test_an_export_leaves_out_who_was_lifted_and_has_its_header_when_nobody_is_left(
    campaign, aws, load_event, clock
):
    campaign.run(published(recipients=[FIRST]))
    clock.advance(60)
    campaign.run(load_event("campaign/lift"))

    campaign.run(load_event("campaign/export_suppressions"))

    assert content_of(aws, EXPORTED) == b"address,scope,reason,source,at\n"


def test_an_export_published_twice_is_written_once(campaign, aws, load_event):
    campaign.run(load_event("campaign/export_suppressions"))
    campaign.run(published(recipients=[FIRST]))

    campaign.run(load_event("campaign/export_suppressions"))

    assert FIRST.encode() not in content_of(aws, EXPORTED)


def test_an_export_to_a_bucket_that_is_not_there_is_parked(campaign, aws):
    uri = "s3://nobody-has-it/suppressions.csv"

    campaign.run(event_of({"kind": "suppressions", "id": "a", "action": "export", "s3": uri}))

    assert reasons(aws) == [f"s3: {uri} may not be written"]


def test_an_export_must_not_write_over_an_audience(campaign, aws):
    uri = "s3://audiences/vaccination.csv"

    campaign.run(event_of({"kind": "suppressions", "id": "a", "action": "export", "s3": uri}))

    assert "s3" in json.dumps(reasons(aws))


def test_an_import_later_than_a_start_word_suppresses_again(campaign, world, clock):
    world.suppressions.lift([FIRST], "marketing", source="messages", at=NOW)
    clock.advance(timedelta(hours=1).total_seconds())

    campaign.run(published(recipients=[FIRST]))

    assert everybody(world) == {(FIRST, "marketing")}

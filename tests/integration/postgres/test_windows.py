"""Windows on the real statements: zones are numbered by the load, and only open ones are picked."""

import json
from datetime import timedelta

import pytest

from sluice.domain.audience import AudienceRow, Position
from sluice.domain.claim import Key
from sluice.domain.direct import direct_send
from sluice.domain.gate import Gate
from sluice.domain.requests import SendRequest
from tests.conftest import NOW, NUMBER, OTHER_NUMBER

BERLIN, NEW_YORK, TOKYO = "Europe/Berlin", "America/New_York", "Asia/Tokyo"
MORNING = {
    "send_window": {"opens": "09:00", "closes": "12:00"},
    "time_zone": BERLIN,
}
"""At NOW, 09:00 UTC, it is 10:00 in Berlin, 04:00 in New York and 18:00 in Tokyo."""


def zones_of(world, campaign_id):
    return world.database.fetch(
        "SELECT zones FROM campaign WHERE campaign_id = %s", (campaign_id,)
    )[0][0]


def zone_ids(world, campaign_id):
    return dict(
        world.database.fetch(
            "SELECT seq, zone FROM delivery WHERE campaign_id = %s", (campaign_id,)
        )
    )


def dispatched(world, now=NOW):
    """What one round queues: seqs by campaign."""
    with world.picks.round(now=now) as current:
        return {
            demand.campaign_id: sorted(
                seq
                for chunk in current.pick(
                    demand.phone_number_id,
                    demand.lane,
                    demand.campaign_id,
                    rows=100,
                    size=100,
                    gate=demand.gate,
                )
                for seq in chunk.seqs
            )
            for demand in current.demands()
        }


def test_a_campaign_without_a_window_asks_nobody_what_time_it_is(world):
    campaign_id = world.campaign(3)

    assert zones_of(world, campaign_id) == []
    assert zone_ids(world, campaign_id) == {1: 0, 2: 0, 3: 0}


def test_zones_are_numbered_as_the_audience_names_them_after_the_campaigns_own(world):
    campaign_id = world.campaign(5, zones=[TOKYO, None, NEW_YORK, BERLIN, TOKYO], **MORNING)

    assert zones_of(world, campaign_id) == [BERLIN, TOKYO, NEW_YORK]
    assert zone_ids(world, campaign_id) == {1: 1, 2: 0, 3: 2, 4: 0, 5: 1}


def test_a_load_that_goes_on_numbers_zones_as_before(world):
    campaign_id = world.campaign(0, **MORNING)
    world.database.fetch("UPDATE campaign SET loaded_at = NULL")

    def store(seq, zone, start, end):
        row = AudienceRow(seq, f"+4915155{seq:06d}", {"name": "Ada"}, None, zone)
        return world.loads.store(
            campaign_id, [row], start=Position(start, start), end=Position(end, end), etag="etag"
        )

    assert store(1, TOKYO, 0, 1)
    assert store(2, NEW_YORK, 1, 2)
    assert not store(2, "Asia/Kolkata", 1, 2)
    assert store(3, TOKYO, 2, 3)

    assert zones_of(world, campaign_id) == [BERLIN, TOKYO, NEW_YORK]
    assert zone_ids(world, campaign_id) == {1: 1, 2: 2, 3: 1}


def test_only_people_whose_window_is_open_are_queued(world):
    campaign_id = world.campaign(6, zones=[None, NEW_YORK, TOKYO], **MORNING)

    assert dispatched(world) == {campaign_id: [1, 4]}
    assert dispatched(world, NOW + timedelta(hours=5)) == {campaign_id: [2, 5]}
    assert dispatched(world, NOW + timedelta(hours=15)) == {campaign_id: [3, 6]}
    assert world.counters_equal_rows()


def test_quiet_hours_hold_people_back(world):
    quiet = [{"from": "09:30", "to": "10:30"}]
    campaign_id = world.campaign(1, quiet_hours=quiet, time_zone=BERLIN)

    assert dispatched(world) == {}
    assert dispatched(world, NOW + timedelta(minutes=30)) == {campaign_id: [1]}


def test_a_campaign_that_is_closed_everywhere_is_no_demand(world):
    world.campaign(3, zones=[None, NEW_YORK], **MORNING)

    with world.picks.round(now=NOW + timedelta(hours=3)) as current:
        assert current.demands() == []


def test_a_closed_campaign_leaves_its_part_to_an_open_one(world):
    world.campaign(3, name="closed", **MORNING | {"time_zone": TOKYO})
    open_one = world.campaign(3, name="open")

    assert dispatched(world) == {open_one: [1, 2, 3]}


def test_a_fixed_number_does_not_open_a_closed_window(world):
    campaign_id = world.campaign(
        4, zones=[None, TOKYO], fixed=NUMBER, numbers=[NUMBER, OTHER_NUMBER], **MORNING
    )

    assert dispatched(world) == {campaign_id: [1, 3]}


def test_a_retry_waits_for_the_window_too(world):
    campaign_id = world.campaign(1, **MORNING)
    world.queue(campaign_id)
    keys = [Key(campaign_id, 1)]
    world.claims.release(keys, now=NOW + timedelta(hours=1))

    assert dispatched(world, NOW + timedelta(hours=2)) == {}
    assert dispatched(world, NOW + timedelta(days=1)) == {campaign_id: [1]}


def test_a_claim_tells_each_persons_zone_and_the_policy_the_hours(world):
    campaign_id = world.campaign(3, zones=[None, TOKYO], **MORNING)
    world.queue(campaign_id, gate=Gate(zones=(0, 1)))

    claimed = world.claim(campaign_id)
    policy = world.claims.policy(campaign_id)

    assert [row.zone for row in claimed] == [0, 1, 0]
    assert [policy.is_open(row, NOW) for row in claimed] == [True, False, True]


def test_a_direct_send_has_no_window(world):
    request = SendRequest.model_validate_json(
        json.dumps(
            {
                "id": "visit-1",
                "phone_number_id": NUMBER,
                "lane": "bulk",
                "recipients": [{"address": "+4915155000001"}],
                "message": {"type": "text", "text": {"body": "We are open."}},
            }
        )
    )
    direct = direct_send(request, phone_number_id=NUMBER, lane="bulk")
    (key,) = world.campaigns.store_direct(request, direct, request_hash="hash", now=NOW)

    (claimed,) = world.claims.claim([key], now=NOW, lease=NOW + timedelta(seconds=60)).rows

    assert world.claims.policy(key.campaign_id).is_open(claimed, NOW)
    assert world.claims.policy(key.campaign_id).hours is None


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_pick_takes_no_more_than_it_is_asked_for_over_all_zones(world, rows):
    campaign_id = world.campaign(20, zones=[None, TOKYO, NEW_YORK], **MORNING)

    chunks = world.queue(campaign_id, rows, gate=Gate(zones=(1, 2)))

    assert sum(len(chunk.seqs) for chunk in chunks) == min(rows, 13)

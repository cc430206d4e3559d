"""Who is suppressed is not sent to: found at load, and again at the claim."""

import json
from datetime import timedelta
from itertools import permutations

import pytest

from sluice.adapters.postgres import claims
from sluice.domain.audience import AudienceRow, Position
from sluice.domain.claim import Key
from sluice.domain.direct import direct_send
from sluice.domain.requests import CampaignRequest, SendRequest, request_hash
from sluice.domain.results import SUPPRESSED, TOO_OFTEN, WINDOW_CLOSED
from sluice.domain.suppressions import Suppression, match_key
from tests.conftest import NOW, NUMBER, TEMPLATE
from tests.integration.postgres.test_plans import explain

FIRST = "+4915155000001"
LATER = NOW + timedelta(hours=1)


def suppress(world, address=FIRST, scope="marketing", reason="asked to stop", since=NOW):
    one = Suppression(match_key(address), scope, reason, "test", since)
    world.suppressions.suppress([one])


def lift(world, address=FIRST, scope="marketing", at=LATER):
    world.suppressions.lift([match_key(address)], scope, source="test", at=at)


def is_suppressed(world, address=FIRST, *, marketing=True):
    return bool(world.suppressions.suppressed([match_key(address)], marketing=marketing))


def load(world, *addresses, **changes):
    """Publish and load a campaign to these addresses."""
    request = CampaignRequest.model_validate_json(json.dumps({
        "campaign": "people", "template": TEMPLATE, "numbers": [NUMBER],
        "audience": {"s3": "s3://audiences/people.csv"}, **changes,
    }))  # fmt: skip
    stored = world.campaigns.create(request, request_hash=request_hash(request), now=NOW)
    rows = [
        AudienceRow(seq, address, {"name": "Ada"}, None)
        for seq, address in enumerate(addresses, start=2)
    ]
    end = Position(99, len(rows) + 1)
    world.loads.store(stored.campaign_id, rows, start=Position(), end=end, etag="e")
    world.loads.seal(stored.campaign_id, now=NOW)
    return stored.campaign_id


def left(world, campaign_id):
    """The addresses that a load left."""
    query = "SELECT address FROM recipient WHERE campaign_id = %s ORDER BY seq"
    rows = world.database.fetch(query, (campaign_id,))
    assert len(rows) == sum(world.states(campaign_id).values())
    return [address for (address,) in rows]


def send_direct(world, message):
    """Store a direct send to FIRST and claim it."""
    request = SendRequest.model_validate_json(json.dumps({
        "id": "one", "phone_number_id": NUMBER, "lane": "conversation",
        "recipients": [{"address": FIRST, "parameters": {"name": "Ada"}}], **message,
    }))  # fmt: skip
    direct, hashed = (
        direct_send(request, phone_number_id=NUMBER, lane="conversation"),
        request_hash(request),
    )
    keys = world.campaigns.store_direct(request, direct, request_hash=hashed, now=NOW)
    lease = NOW + timedelta(seconds=60)
    return keys[0], world.claims.claim(keys, now=NOW, lease=lease).rows


def test_who_is_suppressed_is_dropped_at_load_and_told_why(world):
    suppress(world)

    campaign_id = load(world, FIRST, "+4915155000002")

    assert left(world, campaign_id) == ["+4915155000002"]
    assert world.reports.rejected(campaign_id, limit=5) == [(2, "suppressed: asked to stop")]
    assert world.counters_equal_rows()


@pytest.mark.parametrize(
    ("stopped", "written"),
    [
        ("+553188887777", "+5531988887777"),
        ("+5531988887777", "+553188887777"),
        ("+5215512345678", "+525512345678"),
        ("+5491123456789", "+541123456789"),
    ],
)
def test_another_way_to_write_the_number_is_the_same_person(world, stopped, written):
    suppress(world, stopped)

    assert left(world, load(world, written, FIRST)) == [FIRST]


def test_a_landline_is_nobody_elses(world):
    suppress(world, "+553133334444")

    assert left(world, load(world, "+5531933334444")) == ["+5531933334444"]


def test_a_person_written_in_two_ways_is_sent_once_as_in_the_first_line(world):
    campaign_id = load(world, "+553188887777", "+5531988887777")

    assert left(world, campaign_id) == ["+553188887777"]
    assert world.reports.rejected(campaign_id, limit=5) == [(3, "the same person as in line 2")]


def test_who_comes_twice_and_is_suppressed_is_dropped_twice(world):
    suppress(world)

    campaign_id = load(world, FIRST, FIRST)

    assert left(world, campaign_id) == []
    assert len(world.reports.rejected(campaign_id, limit=5)) == 2


@pytest.mark.parametrize(
    ("scope", "category", "dropped"),
    [
        ("marketing", "marketing", True),
        ("marketing", "utility", False),
        ("marketing", "authentication", False),
        ("all", "marketing", True),
        ("all", "utility", True),
    ],
)
def test_marketing_is_what_a_stop_of_marketing_stops(world, scope, category, dropped):
    suppress(world, scope=scope)
    assert (left(world, load(world, FIRST, category=category)) == []) is dropped
    lift(world, scope=scope)
    campaign_id = world.campaign(1, category=category, name="later")
    world.queue(campaign_id)
    suppress(world, scope=scope, since=LATER)

    assert (world.claim(campaign_id, [1]) == ()) is dropped


def test_who_stops_while_the_campaign_is_queued_is_stopped_at_the_claim(world):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    suppress(world)

    rows = world.claim(campaign_id)

    assert [claimed.key.seq for claimed in rows] == [2, 3]
    row = world.row(campaign_id)
    assert (row["state"], row["error_code"], row["due_at"]) == ("failed", SUPPRESSED, None)
    assert (row["status"], row["attempt"]) == ("none", 0)
    assert world.counters_equal_rows()


def test_a_claim_asked_again_after_a_stop_gives_only_the_others(world):
    campaign_id = world.campaign()
    world.queue(campaign_id)
    keys = [Key(campaign_id, seq) for seq in (1, 2, 3)]
    world.claims.claim(keys, now=NOW, lease=LATER)
    suppress(world)

    again = world.claims.claim(keys, now=NOW, lease=LATER)

    assert [claimed.key.seq for claimed in again.rows] == [2, 3]
    assert world.row(campaign_id)["state"] == "failed"


def test_whoever_wants_marketing_again_is_sent_to(world):
    suppress(world)
    lift(world)

    assert left(world, load(world, FIRST)) == [FIRST]


MESSAGES = [{"template": TEMPLATE}, {"message": {"type": "text", "text": {"body": "Yes."}}}]


@pytest.mark.parametrize("message", MESSAGES, ids=["template", "free_form"])
def test_a_direct_send_goes_to_whoever_only_stopped_marketing(world, message):
    suppress(world)

    _, rows = send_direct(world, message)

    assert [row.address for row in rows] == [FIRST]


@pytest.mark.parametrize("message", MESSAGES, ids=["template", "free_form"])
def test_no_direct_send_goes_to_whoever_gets_nothing(world, message):
    suppress(world, scope="all")

    key, rows = send_direct(world, message)

    assert rows == ()
    assert world.row(key.campaign_id, key.seq)["error_code"] == SUPPRESSED


def test_suppressing_again_changes_nothing_and_the_earliest_time_is_kept(world):
    suppress(world, since=LATER, reason="second")
    suppress(world, since=NOW, reason="first")
    once = world.in_force()
    suppress(world, since=LATER, reason="second")

    assert world.in_force() == once
    assert once == [Suppression(FIRST, "marketing", "first", "test", NOW)]


def test_scopes_are_apart(world):
    suppress(world, scope="all")
    suppress(world)
    lift(world)

    assert is_suppressed(world, marketing=False)
    assert not is_suppressed(world, "+4915155000002")


WORDS = {
    "stop": lambda world: suppress(world, since=NOW),
    "start": lambda world: lift(world, at=NOW + timedelta(minutes=1)),
    "stop again": lambda world: suppress(world, since=NOW + timedelta(minutes=2)),
}


@pytest.mark.parametrize("order", list(permutations(WORDS)), ids=str)
def test_the_latest_word_counts_in_whatever_order_words_come_and_come_again(world, order):
    for name in (*order, *order):
        WORDS[name](world)

    assert is_suppressed(world)


@pytest.mark.parametrize("order", list(permutations(["stop", "start"])), ids=str)
def test_a_stop_from_before_a_start_stays_lifted(world, order):
    for name in (*order, "stop"):
        WORDS[name](world)

    assert not is_suppressed(world)


def test_of_two_words_of_one_second_the_stop_counts(world):
    lift(world, at=NOW)
    suppress(world, since=NOW)
    lift(world, at=NOW)

    assert is_suppressed(world)


def test_an_export_leaves_out_what_was_lifted(world):
    suppress(world)
    lift(world)

    assert b"".join(world.suppressions.export_csv()) == b"address,scope,reason,source,at\n"


def test_a_claim_asks_for_each_person_by_the_key(world, database):
    campaign_id = world.campaign(40)
    world.queue(campaign_id, 40)
    world.suppressions.suppress(
        [
            Suppression(f"+4477009{seq:05d}", "marketing", "asked", "crm", NOW)
            for seq in range(60_000)
        ]
    )
    database.fetch("ANALYZE suppression")

    found = explain(
        database,
        claims.CLAIM,
        {
            **claims.LANES,
            "campaign_ids": [campaign_id] * 40,
            "seqs": list(range(1, 41)),
            **claims.LANES,
            "phone_number_id": NUMBER,
            "lane": "bulk",
            "now": NOW,
            "lease": LATER,
            "suppressed": SUPPRESSED,
            "window_closed": WINDOW_CLOSED,
            "margin": 600.0,
            "too_often": TOO_OFTEN,
            "cap_messages": None,
            "cap_since": None,
            "climb": 0.05,
            "climb_seconds": 10.0,
        },
    )

    asked = [node for node in found if node.get("Relation Name") == "suppression"]
    assert {node["Index Name"] for node in asked} == {"suppression_pkey"}
    assert sum(node["Actual Loops"] for node in asked) == 40

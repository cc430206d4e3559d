"""Errors that concern more than one row: waits that Meta asks for, storms, outages, pairs."""

import json
from datetime import timedelta

import pytest

from sluice.domain.direct import direct_send
from sluice.domain.limits import OUTAGE_ANSWERS_MAX, OUTAGE_SECONDS
from sluice.domain.requests import SendRequest, request_hash
from tests.conftest import NOW, NUMBER, OTHER_NUMBER
from tests.error_codes import CODES
from tests.integration.http_servers import answer
from tests.integration.roads import RunningClock, accepted, keys_sent, send, tell

BY_CODE = {one.code: one for one in CODES}
LATER = NOW + timedelta(hours=1)


def error(code, *headers, http_status=400):
    return answer(BY_CODE[code].body(), http_status, *headers)


def usage(minutes):
    rows = [
        {"type": "whatsapp_business_management", "estimated_time_to_regain_access": 0},
        {"type": "whatsapp", "estimated_time_to_regain_access": minutes},
    ]
    return f"X-Business-Use-Case-Usage: {json.dumps({'104996122399160': rows})}"


def paused_seconds(world, clock):
    """For how much longer each paused number is paused."""
    rows = world.database.fetch(
        "SELECT phone_number_id, paused_until FROM number WHERE paused_until > %s", (clock.now(),)
    )
    return {number: (until - clock.now()).total_seconds() for number, until in rows}


@pytest.mark.parametrize(
    ("code", "headers", "numbers", "seconds"),
    [
        (4, [], 2, 60),
        (4, [usage(10)], 2, 600),
        (80007, [usage(25)], 2, 1_500),
        (80007, ["Retry-After: 90"], 2, 90),
        (80007, ["Retry-After: 5"], 2, 60),
        (130429, ["Retry-After: 40"], 1, 40),
        (
            130429,
            ["Date: Wed, 21 Oct 2026 07:28:00 GMT", "Retry-After: Wed, 21 Oct 2026 07:28:50 GMT"],
            1,
            50,
        ),
        (131057, [], 1, 90),
        (131057, [usage(3)], 1, 180),
        (131048, [], 1, 3_600),
        (131048, [usage(3)], 1, 3_600),
    ],
)
def test_a_pause_is_as_long_as_meta_asks_and_never_shorter_than_the_table(
    world, serve, code, headers, numbers, seconds
):
    server, clock = serve(lambda *_: error(code, *headers, http_status=429)), RunningClock()

    send(world, server.url, world.campaign(1), clock=clock)

    pauses = paused_seconds(world, clock)
    assert len(pauses) == numbers
    assert all(seconds - 10 < pause <= seconds for pause in pauses.values())


def test_a_retry_waits_as_long_as_meta_asks(world, serve):
    server = serve(lambda *_: error(131000, "Retry-After: 300", http_status=500))
    campaign_id = world.campaign(1)

    send(world, server.url, campaign_id)

    assert world.row(campaign_id)["due_at"] >= NOW + timedelta(seconds=300)


def test_a_429_without_a_code_slows_the_number_down_and_burns_no_attempt(world, serve):
    server, clock = serve(lambda *_: answer(b"", 429, "Retry-After: 20")), RunningClock()
    campaign_id = world.campaign(1)

    send(world, server.url, campaign_id, clock=clock)

    assert paused_seconds(world, clock).keys() == {NUMBER}
    assert world.row(campaign_id)["attempt"] == 0
    query = "SELECT rate_factor FROM number WHERE phone_number_id = %s"
    assert world.database.fetch(query, (NUMBER,)) == [(0.5,)]


def test_a_limit_that_is_hit_again_after_its_pause_pauses_twice_as_long(world, serve):
    server, clock = serve(lambda *_: error(80007)), RunningClock()
    campaign_id = world.campaign(1)
    waits = []
    for _ in range(3):
        send(world, server.url, campaign_id, clock=clock)
        (wait,) = set(map(round, paused_seconds(world, clock).values()))
        waits.append(wait)
        clock.began -= wait + 1.0

    assert waits == [60, 120, 240]
    assert world.row(campaign_id)["attempt"] == 0


def test_a_storm_of_130429_is_one_pause_and_half_the_rate_and_nobody_fails(world, serve):
    server, clock = serve(lambda *_: error(130429, http_status=429)), RunningClock()
    campaign_id = world.campaign(60)

    sent = send(world, server.url, campaign_id, rows=60, clock=clock, seconds=25.0)

    assert sent.outcomes["Throttled"] == len(server.requests) < 60
    assert set(world.states(campaign_id)) <= {"pending", "queued"}
    query = "SELECT max(attempt), count(error_code) FROM delivery"
    assert world.database.fetch(query) == [(0, len({*keys_sent(server)}))]
    query = "SELECT rate_factor FROM number WHERE phone_number_id = %s"
    ((factor,),) = world.database.fetch(query, (NUMBER,))
    assert factor < 1


def test_a_number_in_maintenance_for_a_minute_waits_and_then_sends_everything(world, serve):
    ends_at = []

    def reply(*_):
        ends_at.append(ends_at[0] if ends_at else clock.now() + timedelta(seconds=60))
        return error(131057, http_status=500) if clock.now() < ends_at[0] else answer()

    server, clock = serve(reply), RunningClock()
    campaign_id = world.campaign(20)

    send(world, server.url, campaign_id, rows=20, clock=clock)
    refused = len(server.requests)
    assert world.states(campaign_id) == {"pending": 20}
    assert paused_seconds(world, clock).keys() == {NUMBER}

    clock.began -= 95.0
    send(world, server.url, campaign_id, rows=20, clock=clock)

    assert world.states(campaign_id) == {"done": 20}
    assert len(server.requests) == refused + 20
    assert world.database.fetch("SELECT max(attempt), min(attempt) FROM delivery") == [(1, 1)]


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (answer(BY_CODE[131016].body(), 503), "pending"),
        (answer(BY_CODE[2].body(), 503), "pending"),
        (answer(b"<html>Bad Gateway</html>", 502), "unknown"),
    ],
    ids=["131016", "2", "html_502"],
)
def test_while_meta_is_away_the_number_waits_instead_of_burning_everybodys_attempts(
    world, serve, reply, state
):
    server, clock = serve(lambda *_: reply), RunningClock()
    campaign_id = world.campaign(200)

    sent = send(world, server.url, campaign_id, rows=200, clock=clock)

    # Ten, and what was in flight by then.
    assert OUTAGE_ANSWERS_MAX <= len(server.requests) < 40
    pauses = paused_seconds(world, clock)
    assert pauses.keys() == {NUMBER}
    assert pauses[NUMBER] <= OUTAGE_SECONDS
    burned = world.database.fetch("SELECT count(*) FROM delivery WHERE attempt > 0")
    assert burned == [(len(server.requests),)]
    assert world.states(campaign_id).get(state, 0) >= len(server.requests)
    assert sent.stops == 0, "an outage passes by itself"


def test_one_pair_over_its_limit_is_rescheduled_alone_as_meta_says(world, serve):
    """Nobody is suppressed or paused for it, and everybody else is sent."""
    refusals = iter([*[True] * 3, False])

    def reply(request, _):
        if b"+4915155000004" in request and next(refusals):
            return error(131056)
        return answer()

    server, clock = serve(reply), RunningClock()
    campaign_id = world.campaign(10, max_attempts=5)

    send(world, server.url, campaign_id, rows=10, clock=clock)

    assert world.states(campaign_id) == {"done": 9, "pending": 1}
    assert paused_seconds(world, clock) == {}
    for least in (1, 4, 16):
        row = world.row(campaign_id, 4)
        assert row["state"] == "pending"
        wait = (row["due_at"] - clock.now()).total_seconds()
        assert least - 1 < wait <= least + 60
        clock.began -= wait
        send(world, server.url, campaign_id, clock=clock)
    assert world.states(campaign_id) == {"done": 10}
    assert world.row(campaign_id, 4)["attempt"] == 4
    assert world.database.fetch("SELECT count(*) FROM suppression") == [(0,)]


def store_direct(world, place):
    """A direct send of this number, ready to be claimed; returns its keys."""
    content = {"template": {"name": "visit", "language": "en_US", "components": []}}
    request = SendRequest.model_validate_json(json.dumps({
        "id": f"visit-{place}",
        "phone_number_id": NUMBER,
        "lane": "bulk",
        "recipients": [{"address": f"+4915155{place:06d}"}],
        **content,
    }))  # fmt: skip
    found = world.campaigns.store_direct(
        request,
        direct_send(request, phone_number_id=NUMBER, lane="bulk"),
        request_hash=request_hash(request),
        now=NOW,
    )
    return list(found)


@pytest.mark.parametrize("code", [132001, 132015, 132012])
def test_a_template_error_of_a_direct_send_stops_no_other_direct_send(world, serve, code):
    server = serve(lambda request, _: error(code) if b"+4915155000001" in request else answer())
    first, second = store_direct(world, 1), store_direct(world, 2)

    for keys in (first, second):
        send(world, server.url, keys=keys)

    campaign_id = first[0].campaign_id
    assert world.states(campaign_id) == {"failed": 1, "done": 1}
    assert world.database.fetch("SELECT state FROM campaign") == [("running",)]


def test_many_failures_of_direct_sends_do_not_stop_the_number_s_others(world, serve):
    server = serve(lambda *_: error(132012))
    keys = [key for place in range(1, 16) for key in store_direct(world, place)]

    send(world, server.url, keys=keys)

    assert world.states(keys[0].campaign_id) == {"failed": 15}
    assert world.database.fetch("SELECT state FROM campaign") == [("running",)]


def test_a_direct_send_whose_template_is_syncing_is_sent_later(world, serve):
    server = serve(lambda *_: error(134101))
    (key,) = store_direct(world, 1)

    send(world, server.url, keys=[key])

    row = world.row(key.campaign_id, key.seq)
    assert (row["state"], row["attempt"]) == ("pending", 1)
    assert row["due_at"] >= NOW + timedelta(minutes=10)
    assert world.database.fetch("SELECT state FROM campaign") == [("running",)]


def test_a_held_message_of_a_direct_send_that_is_dropped_stops_no_other(world):
    (key,) = store_direct(world, 1)
    claim = world.claims.claim([key], now=NOW, lease=LATER)
    accepted(world, claim.rows, held=True)

    tell(world, key.campaign_id, BY_CODE[132015].error())

    assert world.database.fetch("SELECT state FROM campaign") == [("running",)]


def test_many_failed_statuses_alike_in_a_batch_stop_their_campaign(world):
    campaign_id, claimed = world.sending(12)
    accepted(world, claimed)

    written = tell(world, campaign_id, *[{"code": 139_999, "title": "?"}] * 12)

    state, reason = world.database.fetch("SELECT state, reason FROM campaign")[0]
    assert state == "paused"
    assert reason.startswith("10 failures in a row, the last one 139999")
    assert written.stops == 1


def test_a_throttle_that_a_status_tells_slows_the_number_down(world):
    campaign_id, claimed = world.sending(1)
    accepted(world, claimed)

    written = tell(world, campaign_id, BY_CODE[130429].error())

    rows = dict(world.database.fetch("SELECT phone_number_id, rate_factor FROM number"))
    assert rows == {NUMBER: 0.5, OTHER_NUMBER: 1}
    assert written.stops == 0, "nobody need look"

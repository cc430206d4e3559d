"""Publishing, loading and direct sends: once, whatever is delivered twice or dies."""

import json
import threading

from sluice.adapters.postgres.campaigns import Campaigns
from sluice.domain.audience import AudienceRow, Position, RejectedRow
from sluice.domain.direct import direct_send
from sluice.domain.requests import CampaignRequest, SendRequest, request_hash
from tests.conftest import NOW, NUMBER, TEMPLATE, connect


def request(**changes):
    return CampaignRequest.model_validate_json(
        json.dumps(
            {
                "campaign": "reminder",
                "template": TEMPLATE,
                "numbers": [NUMBER],
                "audience": {"s3": "s3://audiences/people.csv"},
                **changes,
            }
        )
    )


def create(world, **changes):
    wanted = request(**changes)
    return world.campaigns.create(wanted, request_hash=request_hash(wanted), now=NOW)


def row(seq, address=None):
    return AudienceRow(seq, address or f"+4915155{seq:06d}", {"name": "Ada"}, None)


def store(world, campaign_id, rows, start, end):
    return world.loads.store(campaign_id, rows, start=start, end=end, etag="etag")


def test_a_campaign_published_twice_is_one(world):
    assert create(world).campaign_id == create(world).campaign_id


def test_the_same_id_with_another_content_keeps_the_first_and_shows_it(world):
    first = create(world)

    second = create(world, max_attempts=2)

    assert second.request_hash == first.request_hash != request_hash(request(max_attempts=2))


def test_a_load_goes_on_after_its_last_segment(world):
    campaign_id = create(world).campaign_id
    store(world, campaign_id, [row(2), RejectedRow(3, "is empty")], Position(), Position(90, 3))

    stored = world.campaigns.find("reminder")

    assert stored.position == Position(90, 3)
    assert stored.audience_etag == "etag"
    assert not stored.loaded
    assert world.reports.rejected(campaign_id, limit=5) == [(3, "is empty")]


def test_of_two_loaders_one_stops_and_nothing_is_stored_twice(world, database, database_url):
    campaign_id = create(world).campaign_id
    rows = [row(seq) for seq in range(2, 5002)]
    start = threading.Barrier(2)
    stored = []

    def load():
        own = connect(database_url)
        start.wait()
        stored.append(
            type(world)(own).loads.store(
                campaign_id, rows, start=Position(), end=Position(9, 9), etag="etag"
            )
        )
        own.close()

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(stored) == [False, True]
    assert database.fetch("SELECT count(*) FROM delivery") == [(5000,)]
    assert world.counters_equal_rows()


def test_an_address_that_comes_twice_is_sent_once_to_its_first_line(world):
    campaign_id = create(world).campaign_id
    rows = [row(2, "+491515500001"), row(3, "+491515500002"), row(4, "+491515500001")]
    store(world, campaign_id, rows, Position(), Position(99, 4))

    world.loads.seal(campaign_id, now=NOW)
    world.loads.seal(campaign_id, now=NOW)

    assert world.states(campaign_id) == {"pending": 2}
    assert world.reports.rejected(campaign_id, limit=5) == [(4, "the same person as in line 2")]
    assert world.campaigns.find("reminder").loaded
    assert world.counters_equal_rows()


def test_a_load_stores_the_calling_code_of_each_address(world, database):
    stored = create(world)
    addresses = ["+5511900000102", "US.13491208655302741918", "+254300000101"]
    rows = [row(seq, address) for seq, address in enumerate(addresses, start=1)]

    store(world, stored.campaign_id, rows, Position(), Position(9, 3))

    found = database.fetch("SELECT country_code FROM delivery ORDER BY seq")
    assert found == [(55,), (None,), (254,)]


def test_a_campaign_is_not_dispatched_while_it_loads(world):
    campaign_id = create(world).campaign_id
    store(world, campaign_id, [row(2)], Position(), Position(9, 2))

    with world.picks.round(now=NOW) as current:
        assert current.demands() == []


def send_request(**changes):
    return SendRequest.model_validate_json(
        json.dumps(
            {
                "id": "visit-1",
                "phone_number_id": NUMBER,
                "recipients": [{"address": "+4915155000001"}, {"address": "+4915155000002"}],
                "message": {"type": "text", "text": {"body": "We are open."}},
                **changes,
            }
        )
    )


def store_direct(campaigns, wanted):
    direct = direct_send(wanted, phone_number_id=NUMBER, lane="conversation")
    assert not isinstance(direct, list), direct
    return campaigns.store_direct(wanted, direct, request_hash=request_hash(wanted), now=NOW)


def test_a_direct_send_published_twice_is_stored_and_claimed_once(world):
    first = store_direct(world.campaigns, send_request())

    assert store_direct(world.campaigns, send_request()) == first
    claim = world.claims.claim(first, now=NOW, lease=NOW)
    assert [claimed.message["message"]["type"] for claimed in claim.rows] == ["text", "text"]
    assert world.row(first[1].campaign_id, first[1].seq)["country_code"] == 49
    assert world.counters_equal_rows()


def test_a_direct_send_with_a_used_id_and_another_content_is_refused(world):
    store_direct(world.campaigns, send_request())

    other = send_request(message={"type": "text", "text": {"body": "Closed."}})

    assert store_direct(world.campaigns, other) is None


def test_direct_sends_stored_in_parallel_get_positions_of_their_own(world, database, database_url):
    start = threading.Barrier(5)
    found = []

    def publish(place):
        own = connect(database_url)
        start.wait()
        found.append(store_direct(Campaigns(own), send_request(id=f"visit-{place % 3}")))
        own.close()

    threads = [threading.Thread(target=publish, args=(place,)) for place in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({tuple(keys) for keys in found}) == 3
    assert database.fetch("SELECT count(*) FROM delivery") == [(6,)]


def test_a_direct_send_with_a_bad_recipient_is_refused_whole():
    wanted = send_request(recipients=[{"address": "+4915155000001"}, {"address": "0151"}])

    problems = direct_send(wanted, phone_number_id=NUMBER, lane="conversation")

    assert [problem.path for problem in problems] == ["recipients.1.address"]

"""Whom other campaigns were sent to is left out at the end of a load."""

import json

import psycopg
import pytest

from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.postgres.exclusions import exclude
from sluice.adapters.postgres.saved_audiences import DROP, SavedAudiences
from sluice.domain.audience import Position
from sluice.domain.saved import Named
from tests.conftest import NOW, NUMBER, connect
from tests.integration.postgres.test_plans import nodes
from tests.integration.postgres.test_suppressions import left, load, suppress

STATES = ("pending", "queued", "sending", "unknown", "done", "failed", "cancelled", "expired")
PEOPLE = [f"+4915155{place:06d}" for place in range(1, len(STATES) + 1)]
"""As World.campaign makes them: one for each state."""


def before(world, **changes):
    """A campaign whose people stand in every state."""
    campaign_id = world.campaign(len(STATES), name="before", **changes)
    for seq, state in enumerate(STATES, start=1):
        world.database.fetch(
            "UPDATE delivery SET state = %s, attempt = 1, due_at = NULL WHERE seq = %s",
            (state, seq),
        )
    return campaign_id


@pytest.mark.parametrize(
    ("excluded", "remaining"),
    [
        ({"campaign": "before"}, {"pending", "queued", "failed", "cancelled", "expired"}),
        (
            {"campaign": "before", "who": "sent"},
            {"pending", "queued", "failed", "cancelled", "expired"},
        ),
        ({"campaign": "before", "who": "all"}, set()),
    ],
)
def test_who_of_another_campaign_is_excluded_depends_on_what_became_of_them(
    world, excluded, remaining
):
    before(world)

    campaign_id = load(world, *PEOPLE, "+4915155999999", exclude=[excluded])

    people = dict(zip(PEOPLE, STATES, strict=True))
    assert {people[one] for one in left(world, campaign_id) if one in people} == remaining
    assert "+4915155999999" in left(world, campaign_id)
    told = {reason for _, reason in world.reports.rejected(campaign_id, limit=99)}
    assert told == {"excluded: campaign before"}
    assert world.counters_equal_rows()


def test_a_direct_campaign_cannot_be_excluded(world):
    before(world)
    world.database.fetch("UPDATE campaign SET kind = 'direct'")

    campaign_id = load(world, *PEOPLE, exclude=[{"campaign": "before"}])

    assert world.loads.seal(campaign_id, now=NOW) == ["exclude: campaign before is gone"]
    assert not world.campaigns.find("people").loaded


def test_an_erased_campaign_cannot_be_excluded(world):
    campaign_id = before(world)
    world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = now()")
    other = load(world, *PEOPLE, exclude=[{"campaign": "before", "who": "all"}])
    assert left(world, other) == []
    world.database.fetch("UPDATE campaign SET loaded_at = NULL WHERE campaign_id = %s", (other,))
    world.holdings.condemn(campaign_id, now=NOW)

    assert world.loads.seal(other, now=NOW) == ["exclude: campaign before is gone"]


def test_a_campaign_that_is_erased_while_its_people_are_left_out_is_gone(world, database_url):
    campaign_id = before(world)
    world.database.fetch("UPDATE campaign SET state = 'finished', finished_at = now()")

    class Late(psycopg.Cursor):
        def execute(self, query, *arguments, **more):
            if b"INSERT INTO excluded" in (query if isinstance(query, bytes) else query.encode()):
                world.holdings.condemn(campaign_id, now=NOW)
            return super().execute(query, *arguments, **more)

    world.campaign(1, name="people")
    wanted = json.dumps([{"campaign": "before"}])
    world.database.fetch(
        "UPDATE campaign SET request = request || jsonb_build_object('exclude', %s::jsonb)"
        " WHERE campaign = 'people'",
        (wanted,),
    )
    other = world.campaigns.find("people").campaign_id
    with psycopg.connect(database_url, cursor_factory=Late) as connection:
        assert exclude(connection, other) == ("exclude: campaign before is gone",)


def test_a_suppressed_person_is_told_as_suppressed(world):
    before(world)
    suppress(world, PEOPLE[4], scope="all")

    campaign_id = load(world, *PEOPLE, exclude=[{"campaign": "before"}])

    told = dict(world.reports.rejected(campaign_id, limit=99))
    assert told[6] == "suppressed: asked to stop"


def test_twenty_lists_are_one_set(world):
    for place in range(19):
        world.campaign(1, name=f"before-{place}", numbers=[NUMBER])
    world.database.fetch("UPDATE delivery SET state = 'done', due_at = NULL")
    lists = [{"campaign": f"before-{place}"} for place in range(19)]

    campaign_id = load(world, *PEOPLE, exclude=[*lists, {"campaign": "before-0", "who": "all"}])

    assert left(world, campaign_id) == PEOPLE[1:]


def save(world, audience, people):
    """An audience of these people."""
    kept = world.saved.create(
        audience, request_hash="", s3="s3://a/b", is_ndjson=False, etag="e", now=NOW
    )
    rows = [Named(person) for person in people]
    end = Position(9, len(rows))
    assert world.saved.store(kept.audience_id, rows, start=Position(), end=end, etag="e")
    world.saved.finish(kept.audience_id, now=NOW)
    return kept.audience_id


def test_an_audience_is_not_dropped_while_a_load_leaves_its_people_out(
    world, database, database_url
):
    save(world, "staff", PEOPLE)
    campaign_id = load(world, PEOPLE[0], exclude=[{"saved": "staff"}])
    other = connect(database_url)
    other.fetch("SET lock_timeout = '100ms'")

    def drop_meanwhile(connection):
        with connection.transaction():
            assert exclude(connection, campaign_id) == ()
            with pytest.raises(DatabaseAwayError, match="LockNotAvailable"):
                other.fetch(DROP, {"id": "staff", "now": NOW}, patience_seconds=0.1)

    database.run(drop_meanwhile)

    assert SavedAudiences(other).drop("staff", now=NOW).dropped
    other.close()


def test_of_two_savers_one_stops_and_nobody_is_counted_twice(world):
    audience_id = save(world, "staff", PEOPLE)
    world.database.fetch("UPDATE saved_audience SET finished_at = NULL")

    again = world.saved.store(
        audience_id, [Named("+1")], start=Position(), end=Position(9, 9), etag="e"
    )

    assert not again
    assert world.reports.audience("staff")["people"] == len(PEOPLE)


def test_leaving_people_out_reads_each_list_once_even_before_anybody_analysed_it(world, database):
    before(world)
    save(world, "staff", [f"+4916{place}" for place in range(2_000)])
    database.fetch("ANALYZE")
    campaign_id = world.campaign(3_000, name="new")
    request = json.dumps({"exclude": [{"saved": "staff"}, {"campaign": "before"}]})
    database.fetch("UPDATE campaign SET request = %s WHERE campaign = 'new'", (request,))

    def explain(connection):
        with connection.transaction(force_rollback=True):
            connection.execute("SET LOCAL enable_nestloop TO off")
            connection.execute("LOAD 'auto_explain'")
            connection.execute("SET LOCAL auto_explain.log_min_duration TO 0")
            connection.execute("SET LOCAL auto_explain.log_analyze TO on")
            connection.execute("SET LOCAL auto_explain.log_format TO json")
            connection.execute("SET LOCAL client_min_messages TO log")
            told = []
            connection.add_notice_handler(lambda notice: told.append(notice.message_primary))
            exclude(connection, campaign_id)
        return told

    plans = [
        json.loads(one.partition("plan:")[2]) for one in database.run(explain) if "plan:" in one
    ]
    scans = [
        node
        for plan in plans
        if "INSERT INTO excluded" in plan["Query Text"]
        for node in nodes(plan["Plan"])
        if "Relation Name" in node
    ]
    assert {"audience_person", "recipient_shared", "delivery_shared"} <= {
        node["Relation Name"] for node in scans
    }
    assert {node["Actual Loops"] for node in scans} == {1}

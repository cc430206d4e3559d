"""From the topic to nothing, through the deployed function."""

from local.system import System
from sluice.adapters.postgres.connection import Database
from tests.end_to_end.conftest import Campaign, people, until


def test_a_person_and_then_the_campaign_are_forgotten(system: System, database: Database) -> None:
    campaign = Campaign(system, "forgotten", people(9_100, 20))
    campaign.publish()
    campaign.await_states({"done": 20})
    campaign_id = campaign.campaign_id()

    def rows(table: str) -> int:
        query = f"SELECT count(*)::int FROM {table} WHERE campaign_id = %s"
        return int(database.fetch(query, (campaign_id,))[0][0])

    person = {"kind": "erase", "id": "person", "address": campaign.people[0]}
    system.publish(person, kind="erase")
    until(lambda: rows("recipient") == 19, seconds=60, what="the person is erased")
    until(
        lambda: system.report("forgotten").get("state") == "finished",
        seconds=90,
        what="the campaign is finished",
    )
    whole = {"kind": "erase", "id": "campaign", "campaign": "forgotten"}
    system.publish(whole, kind="erase")
    until(
        lambda: system.report("forgotten").get("state") == "erased" and not rows("delivery"),
        seconds=60,
        what="the campaign is erased",
    )

    assert rows("recipient") == rows("message") == 0
    assert campaign.states() == {"done": 20}
    campaign.publish()
    assert len(campaign.accepted()) == 20

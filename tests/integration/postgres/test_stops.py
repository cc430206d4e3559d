"""Pauses that signals ask for, and what a signal never undoes."""

from datetime import timedelta

import pytest

from sluice.domain.clock import FOREVER
from tests.conftest import NOW, NUMBER, OTHER_NUMBER

REASON = "template paused: PAUSED"
LATER = NOW + timedelta(days=1)


def pause(world, account="1", name="vaccination_reminder", language="en_us", reason=REASON):
    return world.stops.pause_template(account, name=name, language=language, reason=reason)


def resume(world, account="1", name="vaccination_reminder", language="en_us"):
    return world.stops.resume_template(account, name=name, language=language)


def campaign(world, name="reminder"):
    """(state, reason) of a campaign."""
    query = "SELECT state, reason FROM campaign WHERE campaign = %s"
    return world.database.fetch(query, (name,))[0]


def numbers(world):
    """(paused_until, pause_reason) of each number."""
    query = "SELECT phone_number_id, paused_until, pause_reason FROM number"
    return {number: pause for number, *pause in world.database.fetch(query)}


def test_a_template_that_is_paused_pauses_its_campaigns_and_resumes_them(world):
    campaign_id = world.campaign()
    world.queue(campaign_id)

    assert pause(world) == 1
    assert campaign(world) == ("paused", REASON)
    assert world.claim(campaign_id) == ()

    assert resume(world) == 1
    assert campaign(world) == ("running", None)
    world.queue(campaign_id)
    assert len(world.claim(campaign_id)) == 3


def test_doing_it_twice_changes_nothing(world):
    world.campaign()

    pause(world)
    pause(world)
    assert campaign(world) == ("paused", REASON)

    assert [resume(world), resume(world)] == [1, 0]
    assert campaign(world) == ("running", None)


@pytest.mark.parametrize(
    "other", [{"name": "another"}, {"language": "en_gb"}, {"account": "2"}], ids=str
)
def test_another_template_language_or_account_is_left_alone(world, other):
    world.campaign()

    assert pause(world, **other) == 0
    assert campaign(world) == ("running", None)


def test_a_template_without_a_language_is_meant_in_every_language(world):
    world.campaign()

    assert pause(world, language=None) == 1
    assert resume(world, language=None) == 1


@pytest.mark.parametrize("reason", [None, "The clinic asked.", REASON])
def test_a_persons_pause_is_never_undone(world, reason):
    world.campaign()
    world.stops.command_campaign("reminder", state="paused", reason=reason)

    pause(world)
    resume(world)

    assert campaign(world) == ("paused", reason)


@pytest.mark.parametrize("reason", [None, REASON])
def test_a_person_who_pauses_what_is_paused_takes_it_over(world, reason):
    world.campaign()
    pause(world)
    world.stops.command_campaign("reminder", state="paused", reason=reason)

    assert resume(world) == 0
    assert campaign(world) == ("paused", reason)


@pytest.mark.parametrize("state", ["cancelled", "finished"])
def test_what_has_ended_stays_ended(world, state):
    campaign_id = world.campaign()
    world.database.fetch(
        "UPDATE campaign SET state = %s WHERE campaign_id = %s", (state, campaign_id)
    )

    assert pause(world) == resume(world) == 0
    assert campaign(world)[0] == state


@pytest.mark.parametrize(
    ("until", "reason"), [(None, "132015 Template is paused"), (LATER, "134101 syncing")]
)
def test_a_pause_that_a_request_told_first_is_taken_over(world, until, reason):
    campaign_id = world.campaign()
    world.stops.pause_campaign(campaign_id, until=until, reason=reason)

    assert pause(world) == 1
    assert resume(world) == 1


def test_a_pause_for_another_reason_is_left_alone(world):
    campaign_id = world.campaign()
    world.stops.pause_campaign(campaign_id, until=None, reason="132001 no such template")

    assert pause(world) == resume(world) == 0
    assert campaign(world) == ("paused", "132001 no such template")


def test_a_template_that_stays_paused_is_not_resumed_by_the_clock(world):
    world.campaign()
    pause(world)

    with world.picks.round(now=NOW + timedelta(days=300)) as current:
        current.demands()

    assert campaign(world) == ("paused", REASON)


def test_an_account_that_is_stopped_pauses_its_numbers_until_then(world):
    assert world.stops.pause_numbers("1", until=LATER, reason="account restricted: X") == 2
    assert world.stops.pause_numbers("2", until=LATER, reason="account restricted: X") == 0

    paused = [LATER, "account restricted: X"]
    assert numbers(world) == {NUMBER: paused, OTHER_NUMBER: paused}


def test_an_account_that_may_send_again_resumes_what_was_paused_for_it_only(world):
    world.stops.pause_numbers("1", until=FOREVER, reason="account disabled: DISABLE")
    world.stops.pause_number(OTHER_NUMBER, until=FOREVER, reason="a command")

    assert world.stops.resume_numbers("1", prefix="account disabled: ") == 1
    assert world.stops.resume_numbers("1", prefix="account disabled: ") == 0

    assert numbers(world) == {NUMBER: [None, None], OTHER_NUMBER: [FOREVER, "a command"]}


@pytest.mark.parametrize("until", [LATER, FOREVER])
def test_a_persons_pause_of_a_number_outlasts_what_an_account_meets(world, until):
    world.stops.pause_number(NUMBER, until=FOREVER, reason="a command")
    world.stops.pause_numbers("1", until=until, reason="account disabled: DISABLE")

    world.stops.resume_numbers("1", prefix="account disabled: ")

    assert numbers(world)[NUMBER] == [FOREVER, "a command"]


@pytest.mark.parametrize(
    ("category", "before", "after"),
    [
        ("utility", None, "paused"),
        ("utility", REASON, "paused"),
        ("marketing", None, "running"),
        ("authentication", None, "running"),
    ],
)
def test_only_what_was_meant_as_utility_waits_when_its_template_becomes_marketing(
    world, category, before, after
):
    world.campaign(category=category)
    if before:
        pause(world)

    world.stops.pause_recategorised("1", name="vaccination_reminder", language="en_us")
    resume(world)

    assert campaign(world)[0] == after


def test_a_persons_own_pause_keeps_its_reason_when_the_template_becomes_marketing(world):
    world.campaign(category="utility")
    world.stops.command_campaign("reminder", state="paused", reason="The clinic asked.")

    world.stops.pause_recategorised("1", name="vaccination_reminder", language=None)

    assert campaign(world) == ("paused", "The clinic asked.")

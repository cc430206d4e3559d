"""Pauses that signals ask for, and what a signal never undoes."""

from datetime import timedelta

import pytest

from sluice.domain.brakes import Backoff, StopAccount, StopNumber
from sluice.domain.clock import FOREVER
from tests.conftest import NOW, NUMBER, OTHER_NUMBER, TEMPLATE

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


def test_the_template_of_a_variant_pauses_its_campaign_and_resumes_it(world):
    other = TEMPLATE | {"name": "other"}
    variants = [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5, "template": other}]
    world.campaign(split={"variants": variants})

    assert pause(world, name="other") == 1
    assert campaign(world) == ("paused", REASON)
    assert resume(world, name="other") == 1
    assert [pause(world), pause(world, name="another")] == [1, 0]


def test_a_template_without_a_language_is_meant_in_every_language(world):
    world.campaign()

    assert pause(world, language=None) == 1
    assert resume(world, language=None) == 1


@pytest.mark.parametrize("reason", [None, "The clinic asked.", REASON])
def test_a_persons_pause_is_never_undone(world, reason):
    world.campaign()
    world.orders.command_campaign("reminder", state="paused", reason=reason)

    pause(world)
    resume(world)

    assert campaign(world) == ("paused", reason)


@pytest.mark.parametrize("reason", [None, REASON])
def test_a_person_who_pauses_what_is_paused_takes_it_over(world, reason):
    world.campaign()
    pause(world)
    world.orders.command_campaign("reminder", state="paused", reason=reason)

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
    world.orders.pause_number(OTHER_NUMBER, until=FOREVER, reason="a command")

    assert world.stops.resume_numbers("1", prefix="account disabled: ") == 1
    assert world.stops.resume_numbers("1", prefix="account disabled: ") == 0

    assert numbers(world) == {NUMBER: [None, None], OTHER_NUMBER: [FOREVER, "a command"]}


@pytest.mark.parametrize("until", [LATER, FOREVER])
def test_a_persons_pause_of_a_number_outlasts_what_an_account_meets(world, until):
    world.orders.pause_number(NUMBER, until=FOREVER, reason="a command")
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
    world.orders.command_campaign("reminder", state="paused", reason="The clinic asked.")

    world.stops.pause_recategorised("1", name="vaccination_reminder", language=None)

    assert campaign(world) == ("paused", "The clinic asked.")


def stop(world, seconds, *, code=4, first=60.0, longest=240.0, kind=StopNumber, **more):
    """Stop for a code at so many seconds; returns for how many more the number is paused."""
    now = NOW + timedelta(seconds=seconds)
    until = now + timedelta(seconds=first)
    backoff = Backoff(code, now, longest)
    stop = kind(until, f"{code} wait", backoff=backoff, **more)
    assert world.stops.stop_sending(NUMBER, stop, now=now)
    return (numbers(world)[NUMBER][0] - now).total_seconds()


def test_a_pause_that_is_needed_again_at_once_is_twice_as_long_up_to_its_longest(world):
    seconds, waits = 0.0, []
    for _ in range(5):
        waits.append(stop(world, seconds))
        seconds += waits[-1] + 1

    assert waits == [60, 120, 240, 240, 240]


def test_refusals_of_the_same_storm_are_one_pause(world):
    assert stop(world, 0) == 60
    assert stop(world, 0) == 60
    assert stop(world, 62) == 120
    assert stop(world, 64) == 118


def test_after_a_time_without_it_a_pause_is_short_again(world):
    stop(world, 0)
    stop(world, 61)

    assert stop(world, 61 + 120 + 121) == 60


def test_another_code_has_a_pause_of_its_own(world):
    stop(world, 0)

    assert stop(world, 61, code=80007) == 60


def test_a_longer_wait_that_meta_asks_for_is_the_pause(world):
    stop(world, 0)

    assert stop(world, 61, first=200.0) == 200


def test_whoever_resumes_a_number_begins_anew(world):
    stop(world, 0)
    world.orders.resume_number(NUMBER)

    assert stop(world, 5) == 60


@pytest.mark.parametrize(
    ("more", "reached"),
    [
        ({"kind": StopNumber}, {NUMBER}),
        ({"kind": StopAccount}, {NUMBER, OTHER_NUMBER}),
        ({"kind": StopAccount, "whole_app": True}, {NUMBER, OTHER_NUMBER, "3"}),
    ],
)
def test_a_stop_reaches_the_number_its_account_or_the_whole_app(world, more, reached):
    world.database.fetch(
        "INSERT INTO number (phone_number_id, account_id, portfolio_id, send_rate, state)"
        " VALUES ('3', '2', '2', 76, 'active')"
    )

    stop(world, 0, **more)

    assert {number for number, (until, _) in numbers(world).items() if until} == reached


def test_a_shorter_stop_never_shortens_a_persons_pause(world):
    world.orders.pause_number(NUMBER, until=FOREVER, reason="a command")

    stop(world, 0)

    assert numbers(world)[NUMBER] == [FOREVER, "a command"]


def test_a_number_that_is_not_configured_is_not_stopped(world):
    assert not world.stops.stop_sending("5", StopNumber(LATER, "33 deleted"), now=NOW)

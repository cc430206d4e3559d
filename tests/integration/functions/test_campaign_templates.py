"""campaign.handle and Meta's templates: what is refused, what waits, how often Meta is asked."""

import json
from datetime import timedelta

import pytest

from sluice.adapters.graph_api import GraphApi
from sluice.domain.told import TellTemplate
from tests.conftest import NUMBER, OTHER_NUMBER
from tests.integration.functions.ports import event_of, failed, reasons
from tests.templates import listed

ACCOUNT = "102290129340398"
REMINDER = "vaccination_reminder"
BODY = {"type": "BODY", "text": "Dear {{1}}, {{2}} expects you on {{3}}."}
FITS = listed(BODY, name=REMINDER)


class Counting:
    """The Graph API, and what it was asked."""

    def __init__(self, graph_api):
        self.graph_api, self.asked = graph_api, []

    def templates(self, account_id, *, name=None, after=None):
        self.asked.append((account_id, name))
        return self.graph_api.templates(account_id, name=name, after=after)


@pytest.fixture
def counting(graph_api):
    return Counting(graph_api)


@pytest.fixture
def publish(campaign, load_event, counting):
    """``publish(name)`` publishes the inline campaign under another name."""

    def run(name="reminder", *, receives=1, check="required", accounts=None, **changes):
        body = json.loads(load_event("campaign/inline")["Records"][0]["body"])
        more = {"accounts": accounts} if accounts is not None else {}
        return campaign.run(
            event_of(body | {"campaign": name} | changes, kind="campaign"),
            receives=receives,
            check=check,
            graph_api=counting,
            **more,
        )

    return run


def campaigns(world):
    return [name for (name,) in world.database.fetch("SELECT campaign FROM campaign ORDER BY 1")]


def seconds_hidden(aws):
    (*_, message) = aws.stored("campaign")
    return (message.visible_at - message.sent_timestamp) / 1000


def test_a_campaign_that_fits_is_loaded_after_one_question(publish, world, counting):
    assert not failed(publish())

    assert campaigns(world) == ["reminder"]
    assert counting.asked == [(ACCOUNT, None)]


def test_one_question_serves_every_campaign_of_an_hour(publish, world, clock, counting):
    for place in range(3):
        publish(f"reminder-{place}")
        clock.advance(1_000)

    clock.advance(1_000)
    publish("reminder-4")

    assert counting.asked == [(ACCOUNT, None)] * 2
    assert len(campaigns(world)) == 4


def test_a_campaign_that_does_not_fit_is_parked_with_everything_and_not_stored(
    publish, world, aws, graph
):
    broken = listed({"type": "BODY", "text": "{{1}}"}, name=REMINDER, category="MARKETING")
    graph.tell("config", templates=[broken | {"status": "PAUSED"}])

    assert not failed(publish())

    assert reasons(aws) == [
        "template: is PAUSED, not APPROVED",
        "category: is utility, but the template's is MARKETING",
        "template.body: the template takes one parameter, not 3",
    ]
    assert campaigns(world) == []


def test_a_template_that_is_not_there_is_asked_for_by_name_once(
    publish, world, aws, graph, counting
):
    publish()
    graph.tell("config", templates=[listed(name="another")])

    publish("other", template={"name": "another", "language": "en_US"})

    assert counting.asked == [(ACCOUNT, None), (ACCOUNT, "another")]
    assert reasons(aws) == ["template.body: the template takes 2 parameters, not 0"]


def test_a_template_that_was_mended_meanwhile_is_taken(publish, world, graph, counting, aws):
    graph.tell("config", templates=[listed(name=REMINDER)])
    publish("too-early")
    graph.tell("config", templates=[FITS])

    publish("mended")

    assert campaigns(world) == ["mended"]
    assert counting.asked == [(ACCOUNT, None), (ACCOUNT, REMINDER)]
    assert len(reasons(aws)) == 1


def test_a_template_that_a_signal_paused_is_asked_for_again(publish, world, clock, counting):
    publish()
    at = clock.now() + timedelta(seconds=5)
    world.templates.tell(TellTemplate(ACCOUNT, REMINDER, "en_us", at, status="PAUSED"))
    clock.advance(60)

    publish("after-the-pause")

    assert counting.asked == [(ACCOUNT, None), (ACCOUNT, REMINDER)]
    assert len(campaigns(world)) == 2, "Meta says that it is approved again"


def test_a_template_that_a_signal_paused_is_refused_while_meta_is_away(
    publish, world, clock, graph, aws
):
    publish()
    at = clock.now() + timedelta(seconds=5)
    world.templates.tell(TellTemplate(ACCOUNT, REMINDER, "en_us", at, status="PAUSED"))
    graph.tell("config", management_code=2)

    publish("after-the-pause", check="when_known")

    assert reasons(aws) == ["template: is PAUSED, not APPROVED"]


@pytest.mark.parametrize("receives", [1, 8])
def test_while_meta_cannot_be_asked_the_campaign_waits(publish, world, aws, graph, receives):
    graph.tell("config", management_code=10)

    assert failed(publish(receives=receives))

    assert seconds_hidden(aws) == pytest.approx(75, abs=5)
    assert (reasons(aws), campaigns(world)) == ([], [])


def test_after_ten_minutes_it_is_refused_with_the_reason(publish, world, aws, graph):
    graph.tell("config", management_code=10)

    assert not failed(publish(receives=9))

    assert reasons(aws) == ["Meta could not be asked: 10 As the script says."]
    assert campaigns(world) == []


def test_when_known_asks_nothing_of_meta_s_health(publish, world, graph):
    graph.tell("config", management_code=2)

    assert not failed(publish(check="when_known"))

    assert campaigns(world) == ["reminder"]


def test_when_known_still_refuses_what_does_not_fit(publish, world, aws, graph):
    graph.tell("config", templates=[listed(name=REMINDER)])

    publish(check="when_known")

    assert campaigns(world) == []
    assert len(reasons(aws)) == 1


def test_off_asks_nobody(publish, world, counting):
    publish(check="off", template={"name": "no_such_template", "language": "xx"}, accounts={})

    assert (campaigns(world), counting.asked) == (["reminder"], [])


def test_a_number_that_is_not_configured_is_refused(publish, world, aws):
    publish(accounts={OTHER_NUMBER: ACCOUNT})

    assert reasons(aws) == [f"numbers: {NUMBER}: not configured in this stage"]
    assert campaigns(world) == []


def test_each_account_of_the_pool_must_have_the_template(publish, world, aws, graph, counting):
    graph.tell("config", templates=[FITS | {"account_id": ACCOUNT}])

    publish(numbers=[NUMBER, OTHER_NUMBER], accounts={NUMBER: ACCOUNT, OTHER_NUMBER: "7"})

    assert reasons(aws) == [f"template: there is none of the name {REMINDER} (account 7)"]
    assert counting.asked == [(ACCOUNT, None), ("7", None)]


def test_when_no_call_is_left_the_campaign_waits_and_meta_is_left_alone(
    publish, world, aws, clock, counting
):
    for _ in range(200):
        assert world.templates.take_call(ACCOUNT, now=clock.now())

    assert failed(publish())
    assert counting.asked == []

    clock.advance(3_601)
    assert not failed(publish())


def test_an_account_that_is_nearly_used_up_is_left_alone(publish, world, graph, clock, counting):
    account = {NUMBER: "an-account-of-this-test"}
    graph.tell("config", management_calls_per_hour=1)
    publish("first", accounts=account)
    clock.advance(4_000)
    graph.tell("config", management_calls_per_hour=100)

    assert not failed(publish("second", accounts=account))
    assert len(counting.asked) == 2

    # Meta said after the first call that its hour was used up: five minutes of rest.
    rest = world.database.fetch("SELECT rest_until FROM template_sync")
    assert rest == [(clock.now() - timedelta(seconds=4_000 - 300),)]


def test_a_campaign_that_is_half_loaded_is_not_checked_again(
    campaign, load_event, graph, graph_api, monkeypatch
):
    monkeypatch.setattr("sluice.steps.campaign.segments.LOAD_SEGMENT_ROWS", 300)
    assert failed(campaign.run(load_event("campaign/s3"), seconds=30))
    graph.tell("config", templates=[], management_code=2)

    assert not failed(campaign.run(load_event("campaign/s3")))


def test_a_row_that_meta_would_refuse_is_rejected_and_the_others_are_sent(publish, world):
    people = [
        {"address": "+12025550101", "parameters": {"name": name, "clinic": "C", "date": "D"}}
        for name in ("Ada\nLovelace", "Ada")
    ]

    publish(audience={"recipients": people})

    assert world.database.fetch("SELECT line, reason FROM rejected") == [
        (1, "the text of body has a line break, a tab or more than four spaces in a row")
    ]
    assert world.database.fetch("SELECT seq FROM recipient") == [(2,)]


def test_a_server_that_is_gone_is_no_answer(campaign, load_event, world):
    gone = GraphApi(url="http://127.0.0.1:1/v25.0", token=lambda **_: "token")

    assert failed(campaign.run(load_event("campaign/inline"), graph_api=gone))
    assert campaigns(world) == []

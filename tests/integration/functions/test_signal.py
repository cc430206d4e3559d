"""signal.handle on real Postgres."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from functions.signal.handler import handle
from sluice.domain.inbound import one_by_one
from sluice.domain.results import SUPPRESSED
from sluice.domain.words import BUILT_IN
from tests.conftest import NUMBER
from tests.integration.functions.ports import Telemetry, event_of, failed, parked, samples


@pytest.fixture
def signal(world, aws, clock):
    telemetry = Telemetry()

    def run(event):
        return handle(
            event,
            signals=world.signals,
            suppressions=world.suppressions,
            conversations=world.conversations,
            subscribers=aws.subscribers(),
            stops=world.stops,
            vocabulary=BUILT_IN,
            limits=world.limits,
            templates=world.templates,
            parking=aws.parking(),
            telemetry=telemetry,
            clock=clock,
        )

    return SimpleNamespace(run=run, telemetry=telemetry)


def kept(world):
    """(account, field, value) of every signal."""
    rows = world.database.fetch("SELECT account_id, field, body FROM signal ORDER BY received_at")
    return [(account, name, body["value"]) for account, name, body in rows]


@pytest.mark.parametrize("sample", samples("signal"))
def test_a_sample_is_kept_as_it_came(signal, world, load_event, sample):
    event = load_event(f"signal/{sample}")

    assert not failed(signal.run(event))

    (came,) = json.loads(event["Records"][0]["body"])["signals"]
    parts = [(came["account"], came["field"], part["value"]) for part in one_by_one(came)]
    assert sorted(kept(world), key=repr) == sorted(parts, key=repr)


@pytest.mark.parametrize("sample", samples("signal"))
def test_a_sample_that_comes_twice_is_kept_and_counted_once(signal, world, load_event, sample):
    for _ in range(2):
        signal.run(load_event(f"signal/{sample}"))

    assert signal.telemetry.counts()["SignalsKept"] == len(kept(world))


def test_poison_among_good_ones_is_parked(signal, world, aws, load_event):
    answer = signal.run(load_event("signal/poison_among_good"))

    (envelope,) = parked(aws)
    assert not failed(answer)
    assert envelope["step"] == "signal"
    assert envelope["body"] == "not JSON"
    assert len(kept(world)) == 1


@pytest.mark.parametrize(
    "text",
    ['"\\ud800"', '"\\udc00 and more"', '"a\\u0000b"', '"\\ud83c\\udf89"'],
    ids=["half_a_pair", "other_half", "nul", "emoji"],
)
def test_any_text_that_json_can_write_is_kept(signal, world, text):
    body = f'{{"signals": [{{"account": {text}, "field": {text}, "value": {{"text": {text}}}}}]}}'

    assert not failed(signal.run(event_of(body)))

    (stored,) = world.database.fetch("SELECT body::text FROM signal")
    assert json.loads(stored[0])["value"] == {"text": json.loads(text)}


def test_a_message_that_cannot_be_stored_comes_again_alone(signal, world):
    good = {"account": "1", "field": "messages", "value": {}}
    bad = '{"signals": [{"account": "1", "field": "messages", "value": {"number": NaN}}]}'

    answer = signal.run(event_of({"signals": [good]}, bad, {"signals": [good | {"time": 5}]}))

    assert failed(answer) == ["message-1"]
    assert len(kept(world)) == 2


def test_no_signals_are_no_work(signal, world):
    assert not failed(signal.run(event_of({"signals": []})))

    assert kept(world) == []


def test_signals_are_counted_by_field(signal):
    signals = [{"account": "1", "field": name, "value": {}} for name in ("a", "b", "b")]
    signals[2]["time"] = 5

    signal.run(event_of({"signals": signals}))

    assert signal.telemetry.facts("fields") == [{"a": 1, "b": 2}]


ACCOUNT = "102290129340398"
PERSON = {"+12025550101", "US.13491208655302741918"}


@pytest.fixture
def sampled(world, clock):
    """The world of the samples: their account, and a day later."""
    world.configure(account_id=ACCOUNT)
    clock.moment = datetime(2026, 12, 1, 12, 5, tzinfo=UTC)
    return world


def campaign_of(world):
    return world.database.fetch("SELECT state, reason FROM campaign")[0]


@pytest.mark.parametrize("sample", ["opt_out", "stop_message", "poison_among_good"])
def test_who_asks_to_stop_is_suppressed_by_number_and_user_id(signal, sampled, load_event, sample):
    signal.run(load_event(f"signal/{sample}"))

    assert sampled.suppressions.suppressed(PERSON, marketing=True) == PERSON
    assert sampled.suppressions.suppressed(PERSON, marketing=False) == set()
    assert signal.telemetry.counts()["Suppress"] == 1


def test_a_thank_you_suppresses_nobody(signal, sampled, load_event):
    signal.run(load_event("signal/inbound_message"))

    assert sampled.suppressions.suppressed(PERSON, marketing=True) == set()


def test_an_opt_out_while_the_campaign_is_queued_stops_that_person(signal, world, load_event):
    campaign_id = world.campaign(2)
    world.queue(campaign_id)
    body = json.loads(load_event("signal/opt_out")["Records"][0]["body"])
    body["signals"][0]["value"]["user_preferences"][0]["wa_id"] = "4915155000001"

    signal.run(event_of(body))

    assert [claimed.key.seq for claimed in world.claim(campaign_id, [1, 2])] == [2]
    assert world.row(campaign_id)["error_code"] == SUPPRESSED


def test_who_resumes_later_is_lifted_whichever_comes_first(signal, sampled, load_event):
    resume = json.loads(load_event("signal/opt_in")["Records"][0]["body"])
    preference = resume["signals"][0]["value"]["user_preferences"][0]
    preference["timestamp"] = resume["signals"][0]["time"] = preference["timestamp"] + 60

    signal.run(event_of(resume))
    signal.run(load_event("signal/opt_out"))

    assert sampled.suppressions.suppressed(PERSON, marketing=True) == set()


def test_a_paused_template_pauses_its_campaign_until_it_is_approved(signal, sampled, load_event):
    sampled.campaign()

    signal.run(load_event("signal/template_paused"))
    assert campaign_of(sampled) == ("paused", "template paused: PAUSED FIRST_PAUSE")
    assert signal.telemetry.counts()["NeedsPerson"] == 1

    signal.run(load_event("signal/template_approved"))
    assert campaign_of(sampled) == ("running", None)


def test_a_pause_that_comes_again_after_the_approval_pauses_nothing(signal, sampled, load_event):
    sampled.campaign()

    for sample in ("template_paused", "template_approved", "template_paused"):
        signal.run(load_event(f"signal/{sample}"))

    assert campaign_of(sampled) == ("running", None)


def test_an_approval_does_not_undo_a_persons_pause(signal, sampled, load_event):
    sampled.campaign()
    sampled.orders.command_campaign("reminder", state="paused", reason="template paused: by us")

    signal.run(load_event("signal/template_approved"))

    assert campaign_of(sampled) == ("paused", "template paused: by us")


def test_a_restricted_account_pauses_its_numbers_until_the_restriction_ends(
    signal, sampled, load_event
):
    signal.run(load_event("signal/account_restricted"))

    rows = sampled.database.fetch("SELECT paused_until, pause_reason FROM number")
    until = datetime.fromtimestamp(1796212800, UTC)
    assert rows == [(until, "account restricted: RESTRICTED_BIZ_INITIATED_MESSAGING")] * 2


def test_an_account_that_is_reinstated_lets_its_numbers_send(signal, sampled, load_event):
    signal.run(load_event("signal/account_disabled"))
    query = "SELECT pause_reason FROM number"
    assert sampled.database.fetch(query) == [("account disabled: DISABLE",)] * 2

    signal.run(load_event("signal/account_reinstated"))

    assert sampled.database.fetch(query) == [(None,)] * 2


def told(aws):
    """What subscribers heard: (attributes, notice)."""
    return [(letter.attributes, json.loads(letter.body)) for letter in aws.letters("inbound")]


def test_subscribers_hear_a_reply_with_the_campaign_that_it_answers(
    signal, sampled, aws, load_event
):
    campaign_id = sampled.campaign()
    sampled.database.fetch(
        "INSERT INTO message VALUES (%s, 2, 1, 'wamid.HBgLMTIwMjU1NTAxMDEVAgARGBI1')",
        (campaign_id,),
    )

    signal.run(load_event("signal/reply"))

    ((attributes, notice),) = told(aws)
    assert attributes == {"phone_number_id": NUMBER, "type": "text", "campaign": "reminder"}
    assert notice["from"] == {"phone": "+12025550101", "user_id": "US.13491208655302741918"}
    assert notice["message"]["text"] == {"body": "Can I come at ten?"}
    assert notice["answers"] == {
        "campaign": "reminder", "campaign_id": campaign_id, "seq": 2, "id": None,
    }  # fmt: skip
    assert signal.telemetry.counts()["RepliesPublished"] == 1


def test_a_webhook_of_two_replies_is_two_and_again_none(signal, sampled, aws, load_event):
    signal.run(load_event("signal/replies_of_two"))
    body = json.loads(load_event("signal/replies_of_two")["Records"][0]["body"])
    for message in body["signals"][0]["value"].pop("messages"):
        again = json.loads(json.dumps(body))
        again["signals"][0]["value"]["messages"] = [message]
        signal.run(event_of(again))

    assert [notice["from"]["phone"] for _, notice in told(aws)] == ["+12025550101", "+12025550102"]
    assert signal.telemetry.counts()["SignalsKept"] == 2


def test_a_reply_opens_the_conversation(signal, sampled, load_event):
    signal.run(load_event("signal/reply"))

    rows = sampled.database.fetch(
        "SELECT match_key, phone_number_id, open_until FROM conversation ORDER BY 1"
    )
    until = datetime.fromtimestamp(1796126400 + 86_400, UTC)
    assert rows == [(key, NUMBER, until) for key in sorted(PERSON)]


def test_a_crash_between_the_effects_and_the_mark_tells_subscribers_twice_and_loses_nothing(
    signal, sampled, aws, load_event, monkeypatch
):
    def crash(_digests, **_more):
        raise MemoryError

    with monkeypatch.context() as crashing:
        crashing.setattr(sampled.signals, "acted", crash)
        with pytest.raises(MemoryError):
            signal.run(load_event("signal/reply"))

    assert not failed(signal.run(load_event("signal/reply")))
    assert not failed(signal.run(load_event("signal/reply")))
    assert len(told(aws)) == 2


def test_a_person_with_a_new_number_stays_suppressed_under_it(signal, sampled, load_event):
    signal.run(load_event("signal/stop_message"))
    signal.run(load_event("signal/user_changed_number"))
    signal.run(load_event("signal/user_changed_user_id"))

    new = {"+12025550199", "US.98765432101234567890"}
    everything = PERSON | new
    assert sampled.suppressions.suppressed(everything, marketing=True) == everything


def test_a_template_that_became_marketing_pauses_what_was_meant_as_utility(
    signal, sampled, load_event
):
    sampled.campaign(category="utility")
    sampled.campaign(category="marketing", name="sale")

    signal.run(load_event("signal/template_recategorised"))

    query = "SELECT campaign, state, reason, paused_until FROM campaign ORDER BY 1"
    assert sampled.database.fetch(query) == [
        ("reminder", "paused", "template category: utility to marketing", None),
        ("sale", "running", None, None),
    ]
    assert signal.telemetry.counts()["NeedsPerson"] == 1


def test_a_template_in_the_red_needs_a_person(signal, sampled, load_event):
    signal.run(load_event("signal/quality_red"))

    assert signal.telemetry.counts()["NeedsPerson"] == 1
    assert signal.telemetry.facts("fields") == [{"message_template_quality_update": 1}]


def test_a_number_in_maintenance_is_paused_for_a_while(signal, sampled, clock, load_event):
    clock.moment = datetime.fromtimestamp(1796126401, UTC)

    signal.run(load_event("signal/number_maintenance"))

    rows = sampled.database.fetch(
        "SELECT phone_number_id FROM number WHERE paused_until > %s", (clock.now(),)
    )
    assert rows == [(NUMBER,)]


def test_whoever_has_only_a_user_id_is_suppressed_by_it(signal, sampled, load_event):
    signal.run(load_event("signal/stop_button"))

    assert sampled.suppressions.suppressed(PERSON, marketing=True) == {"US.13491208655302741918"}


def test_an_error_of_a_number_throttles_and_pauses_it_alone(signal, sampled, clock, load_event):
    clock.moment = datetime.fromtimestamp(1796126401, UTC)

    signal.run(load_event("signal/number_error"))

    rows = sampled.database.fetch(
        "SELECT phone_number_id, rate_factor FROM number WHERE paused_until > %s", (clock.now(),)
    )
    assert rows == [(NUMBER, 0.5)]
    assert "NeedsPerson" not in signal.telemetry.counts()


def test_what_was_kept_before_a_crash_is_acted_upon_when_it_comes_again(
    signal, sampled, load_event, monkeypatch
):
    def crash(_suppressions):
        raise MemoryError

    with monkeypatch.context() as crashing:
        crashing.setattr(sampled.suppressions, "suppress", crash)
        assert failed(signal.run(load_event("signal/opt_out"))) != []
    assert len(kept(sampled)) == 1

    assert not failed(signal.run(load_event("signal/opt_out")))

    assert sampled.suppressions.suppressed(PERSON, marketing=True) == PERSON
    assert signal.telemetry.counts()["SignalsKept"] == 1
    assert sampled.database.fetch("SELECT count(*) FROM signal WHERE acted_at IS NULL") == [(0,)]


def test_a_message_whose_action_fails_comes_again_alone(signal, sampled, load_event, monkeypatch):
    def refuse(*_template, **_more):
        raise ValueError("+12025550101")

    monkeypatch.setattr(sampled.stops, "pause_template", refuse)
    bodies = [
        load_event(f"signal/{sample}")["Records"][0]["body"]
        for sample in ("template_paused", "opt_out")
    ]

    answer = signal.run(event_of(*bodies))

    assert failed(answer) == ["message-0"]
    assert sampled.suppressions.suppressed(PERSON, marketing=True) == PERSON
    assert "12025550101" not in repr(signal.telemetry.reports)


def test_a_daily_limit_that_meta_tells_is_that_of_the_accounts_portfolio(signal, world, load_event):
    world.configure(account_id=ACCOUNT, portfolio_id="7")

    signal.run(load_event("signal/daily_limit_raised"))

    rows = world.database.fetch("SELECT portfolio_id, daily_limit, limit_source FROM portfolio")
    assert ("7", 2_000, "business_capability_update") in rows
    assert signal.telemetry.counts()["SetDailyLimit"] == 1

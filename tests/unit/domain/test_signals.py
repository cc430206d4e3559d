"""What a signal asks for, and that most ask for nothing."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from sluice.domain.brakes import Backoff, StopAccount, StopNumber
from sluice.domain.clock import FOREVER
from sluice.domain.signals import (
    PauseNumbers,
    PauseRecategorised,
    PauseTemplate,
    ResumeNumbers,
    ResumeTemplate,
    SetDailyLimit,
    StopSending,
    WarnOfQuality,
    actions_of,
)
from sluice.domain.told import TellTemplate
from sluice.domain.wishes import Lift, Move, Suppress
from sluice.domain.words import vocabulary_from
from tests.conftest import EVENTS

NOT_ONE = {"poison_among_good"}
ACCOUNT = "102290129340398"
NUMBER = "106540352242922"
KEYS = ("+12025550101", "US.13491208655302741918")
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SAMPLED_AT = datetime.fromtimestamp(1796126400, UTC)
SAMPLES = {
    "opt_out": [Suppress(KEYS, "stopped marketing in WhatsApp", "user_preferences", SAMPLED_AT)],
    "opt_in": [Lift(KEYS, "user_preferences", SAMPLED_AT)],
    "stop_message": [Suppress(KEYS, "asked to stop", "messages", SAMPLED_AT)],
    "stop_button": [Suppress(KEYS[1:], "asked to stop", "messages", SAMPLED_AT)],
    "inbound_message": [],
    "reply": [],
    "replies_of_two": [],
    "call": [],
    "user_changed_number": [Move(KEYS[:1], "+12025550199")],
    "user_changed_user_id": [Move(KEYS[1:], "US.98765432101234567890")],
    "template_recategorised": [PauseRecategorised(ACCOUNT, "vaccination_reminder", "en_us")],
    "quality_red": [WarnOfQuality("vaccination_reminder")],
    "account_alert": [],
    "number_maintenance": [
        StopSending(
            NUMBER,
            StopNumber(SAMPLED_AT + timedelta(seconds=90), "131057 The number is being upgraded."),
        )
    ],
    "template_paused": [
        PauseTemplate(
            ACCOUNT, "vaccination_reminder", "en_us", "template paused: PAUSED FIRST_PAUSE"
        )
    ],
    "template_approved": [ResumeTemplate(ACCOUNT, "vaccination_reminder", "en_us")],
    "account_restricted": [
        PauseNumbers(
            ACCOUNT,
            datetime.fromtimestamp(1796212800, UTC),
            "account restricted: RESTRICTED_BIZ_INITIATED_MESSAGING",
        )
    ],
    "account_disabled": [PauseNumbers(ACCOUNT, FOREVER, "account disabled: DISABLE")],
    "account_reinstated": [
        ResumeNumbers(ACCOUNT, "account disabled: "),
        ResumeNumbers(ACCOUNT, "account restricted: "),
    ],
    "number_error": [
        StopSending(
            NUMBER,
            StopNumber(SAMPLED_AT + timedelta(seconds=3), "130429 Rate limit hit", slower=True),
        )
    ],
    "quality_lowered": [],
    "throughput_upgrade": [SetDailyLimit(ACCOUNT, None, "phone_number_quality_update", SAMPLED_AT)],
    "daily_limit_raised": [SetDailyLimit(ACCOUNT, 2_000, "business_capability_update", SAMPLED_AT)],
    "daily_limit_as_a_tier": [
        SetDailyLimit(ACCOUNT, 10_000, "business_capability_update", SAMPLED_AT)
    ],
    "unknown_field": [],
    "unknown_status": [],
}


def signal(field, value, **more):
    return {"account": ACCOUNT, "field": field, "time": 1796126400, "value": value, **more}


def beside_the_word(signal, now=NOW):
    """What is asked for beside keeping what is told of a template: see test_told.py."""
    return [one for one in actions_of(signal, now=now) if not isinstance(one, TellTemplate)]


def template(**value):
    named = {"message_template_name": "reminder", "message_template_language": "en-US"}
    return beside_the_word(signal("message_template_status_update", named | value))


def account(**value):
    return actions_of(signal("account_update", value), now=NOW)


def message(now=NOW, contacts=(), **message):
    value = {"contacts": list(contacts), "messages": [{"from": "12025550101", **message}]}
    return actions_of(signal("messages", value), now=now)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_asks_for(load_event, sample):
    body = json.loads(load_event(f"signal/{sample}")["Records"][0]["body"])
    (sampled,) = body["signals"]

    asked = beside_the_word(sampled, now=SAMPLED_AT + timedelta(seconds=2))
    assert asked == SAMPLES[sample]


@pytest.mark.parametrize(
    "chosen",
    [
        {"type": "button", "button": {"payload": "opt-out", "text": "No more news"}},
        {"type": "button", "button": {"payload": "7f3a", "text": "Stop promotions"}},
        {"type": "interactive", "interactive": {"button_reply": {"id": "STOP", "title": "Bye"}}},
        {"type": "interactive", "interactive": {"list_reply": {"id": "3", "title": "Stop"}}},
    ],
)
def test_a_button_that_says_stop_is_a_stop(chosen):
    (action,) = message(**chosen)

    assert isinstance(action, Suppress)


def test_a_message_that_asks_to_start_lifts():
    (action,) = message(text={"body": "START"}, timestamp="1796126000")

    assert action == Lift(("+12025550101",), "messages", datetime.fromtimestamp(1796126000, UTC))


def test_whoever_only_has_a_user_id_may_stop_too():
    value = {"messages": [{"from_user_id": "US.134", "text": {"body": "stop"}}]}

    (action,) = actions_of(signal("messages", value), now=NOW)

    assert action.keys == ("US.134",)


def test_a_stop_is_of_the_person_who_wrote_it_and_of_nobody_beside():
    others = [{"wa_id": "12025550102", "user_id": "US.2"}, {"wa_id": "12025550101"}]

    (action,) = message(text={"body": "stop"}, contacts=others)

    assert action.keys == ("+12025550101",)


def test_a_time_that_is_still_to_come_is_now():
    (action,) = message(text={"body": "stop"}, timestamp="1796999999")

    assert action.at == SAMPLED_AT


@pytest.mark.parametrize("event", ["PAUSED", "disabled", "REJECTED", "PENDING_DELETION", "DELETED"])
def test_a_template_that_cannot_be_sent_pauses(event):
    (action,) = template(event=event)

    assert action == PauseTemplate(
        ACCOUNT, "reminder", "en_us", f"template paused: {event.upper()}"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"event": "APPROVED"},
        {"event": "REINSTATED"},
        {"event": "UNPAUSED"},
        {"event": "APPROVED", "other_info": {"title": "UNPAUSE"}},
    ],
)
def test_a_template_that_can_be_sent_again_resumes(value):
    assert template(**value) == [ResumeTemplate(ACCOUNT, "reminder", "en_us")]


@pytest.mark.parametrize("event", ["FLAGGED", "PENDING", "IN_APPEAL", "LOCKED", "", None, 7])
def test_other_news_of_a_template_ask_for_nothing(event):
    assert template(event=event) == []


def test_a_template_without_a_language_is_meant_in_every_language():
    (action,) = template(event="PAUSED", message_template_language=None)

    assert action.language is None


def test_a_warning_of_a_ban_and_other_restrictions_ask_for_nothing():
    assert account(ban_info={"waba_ban_state": "SCHEDULE_FOR_DISABLE"}) == []
    assert account(restriction_info=[{"restriction_type": "RESTRICTED_ADD_PHONE_NUMBER"}]) == []


@pytest.mark.parametrize(
    ("ends", "until"),
    [([None], FOREVER), ([1796212800, 1796299200], datetime.fromtimestamp(1796299200, UTC))],
)
def test_a_restriction_lasts_until_its_last_end_if_it_has_one(ends, until):
    restriction = {"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING"}

    (action,) = account(restriction_info=[restriction | {"expiration": end} for end in ends])

    assert action.until == until


def test_a_restriction_that_is_over_asks_for_nothing():
    restriction = {"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING"}

    assert account(restriction_info=[restriction | {"expiration": 1796000000}]) == []


@pytest.mark.parametrize(
    ("code", "stop"),
    [
        (131057, StopNumber(SAMPLED_AT + timedelta(seconds=90), "131057 busy")),
        (131042, StopAccount(FOREVER, "131042 busy")),
        (190, StopAccount(FOREVER, "190 busy", whole_app=True)),
        (
            131048,
            StopNumber(
                SAMPLED_AT + timedelta(hours=1),
                "131048 busy",
                backoff=Backoff(131048, SAMPLED_AT, 86_400),
            ),
        ),
    ],
)
def test_an_error_of_a_number_stops_what_the_table_says(code, stop):
    value = {"metadata": {"phone_number_id": NUMBER}, "errors": [{"code": code, "title": "busy"}]}

    (action,) = actions_of(signal("messages", value), now=SAMPLED_AT)

    assert action == StopSending(NUMBER, stop)


def test_an_old_error_of_a_number_stops_nothing():
    value = {"metadata": {"phone_number_id": NUMBER}, "errors": [{"code": 130429}]}

    assert actions_of(signal("messages", value), now=SAMPLED_AT + timedelta(hours=1)) == []


def test_every_sample_has_its_actions_here():
    assert {path.stem for path in (EVENTS / "signal").glob("*.json")} - NOT_ONE == set(SAMPLES)


@pytest.mark.parametrize("code", [130429, 131057, 131048, 190, 368, 131031])
def test_an_error_without_a_message_is_the_numbers_or_its_accounts(code):
    value = {"metadata": {"phone_number_id": NUMBER}, "errors": [{"code": code, "title": "busy"}]}

    (action,) = actions_of(signal("messages", value), now=SAMPLED_AT)

    assert (type(action), action.phone_number_id) == (StopSending, NUMBER)


def test_an_error_of_nobody_in_particular_stops_nothing():
    value = {
        "metadata": {"phone_number_id": NUMBER},
        "errors": [{"code": 131026}, {"code": 131052}],
    }

    assert actions_of(signal("messages", value), now=SAMPLED_AT) == []


@pytest.mark.parametrize(
    "value",
    [
        {"new_category": "UTILITY", "previous_category": "MARKETING"},
        {"new_category": "UTILITY", "correct_category": "MARKETING"},
        {"new_category": None},
        {},
    ],
)
def test_a_template_that_is_not_marketing_yet_pauses_nothing(value):
    named = {"message_template_name": "reminder", **value}

    assert beside_the_word(signal("template_category_update", named)) == []


@pytest.mark.parametrize(
    "system",
    [
        {"type": "customer_identity_changed"},
        {"type": "user_changed_number", "wa_id": "12025550101"},
        {"type": "user_changed_number"},
        {"type": "user_changed_user_id", "user_id": "US.2"},
        {"type": "user_changed_user_id", "previous_user_id": "US.2", "user_id": "US.2"},
        7,
    ],
    ids=str,
)
def test_a_person_who_has_the_same_key_does_not_move(system):
    assert message(type="system", system=system) == []


def test_an_older_name_of_the_new_number_is_understood():
    (action,) = message(type="system", system={
        "type": "user_changed_number", "new_wa_id": "12025550199"
    })  # fmt: skip

    assert action == Move(("+12025550101",), "+12025550199")


def test_a_stage_may_have_words_and_payloads_of_its_own():
    vocabulary = vocabulary_from(
        '{"stop_words": {"sw": {"add": ["komesha"]}}, "stop_payloads": ["OPT_OUT_V2"]}'
    )
    said = [
        {"text": {"body": "Komesha!"}},
        {"button": {"payload": "OPT_OUT_V2", "text": "Not for me"}},
        {"interactive": {"button_reply": {"id": "opt_out_v2", "title": "No"}}},
        {"text": {"body": "OPT_OUT_V2"}},
    ]

    found = [
        actions_of(
            signal("messages", {"messages": [{"from": "12025550101", **one}]}),
            now=NOW,
            vocabulary=vocabulary,
        )
        for one in said
    ]

    assert [[type(action) for action in actions] for actions in found] == [
        [Suppress], [Suppress], [Suppress], []
    ]  # fmt: skip


@pytest.mark.parametrize("value", [None, [], "x", {"messages": 7}, {"errors": [7]}, {}])
@pytest.mark.parametrize(
    "field",
    [
        "messages",
        "user_preferences",
        "message_template_status_update",
        "message_template_quality_update",
        "template_category_update",
        "account_update",
        "business_capability_update",
        None,
    ],
)
def test_a_shape_that_we_do_not_know_asks_for_nothing(field, value):
    assert actions_of(signal(field, value), now=NOW) == []


def test_text_that_no_database_takes_is_no_name():
    assert template(event="PAUSED", message_template_name="a\0b") == []
    assert actions_of(signal("account_update", {}, account="\ud800"), now=NOW) == []


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ({"max_daily_conversations_per_business": -1}, None),
        ({"max_daily_conversations_per_business": "TIER_UNLIMITED"}, None),
        ({"max_daily_conversation_per_phone": 250}, 250),
        (
            {
                "max_daily_conversation_per_phone": 250,
                "max_daily_conversations_per_business": "TIER_2K",
            },
            2_000,
        ),
        (
            {
                "max_daily_conversation_per_phone": 250,
                "max_daily_conversations_per_business": "TIER_NOT_SET",
            },
            250,
        ),
    ],
)
def test_a_daily_limit_is_read_by_both_of_its_names(told, limit):
    (action,) = actions_of(signal("business_capability_update", told), now=NOW)

    assert (action.account_id, action.daily_limit) == (ACCOUNT, limit)


def test_a_limit_that_says_nothing_asks_for_nothing():
    told = {"max_daily_conversations_per_business": "TIER_NOT_SET", "event": "ONBOARDING"}

    assert actions_of(signal("phone_number_quality_update", told), now=NOW) == []

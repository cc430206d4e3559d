"""The verdicts, in the order in which they are reached."""

import itertools
import json

import pytest

from local.cloud_api.config import Config, Number, changed
from local.cloud_api.engine import Asked, Engine
from local.cloud_api.rules import Rule

NUMBER = "106540352242922"
CONFIG = Config(numbers={NUMBER: Number(messages_per_second=2)})
(TOKEN,) = CONFIG.access_tokens


@pytest.fixture
def ask():
    ids = itertools.count(1)

    def asked(engine, *, at=0.0, to="+4915100000000", token=TOKEN, number=NUMBER):
        body = {"messaging_product": "whatsapp", "to": to, "text": {"body": "hi"}}
        raw = json.dumps(body | {"biz_opaque_callback_data": "c:1:1"}).encode()
        return engine.judge(Asked(next(ids), at, number, f"Bearer {token}", raw))

    return asked


def error_of(judgement):
    return json.loads(judgement.body)["error"]


def test_a_wrong_token_is_190_with_401_and_names_who_was_meant(ask):
    judgement = ask(Engine(CONFIG), token="old")
    assert (judgement.http_status, error_of(judgement)["code"]) == (401, 190)
    assert (judgement.recipient, judgement.opaque_id) == ("+4915100000000", "c:1:1")


def test_an_unknown_number_is_100(ask):
    judgement = ask(Engine(CONFIG), number="7")
    assert (judgement.verdict, error_of(judgement)["error_subcode"]) == ("rejected:100", 33)


def test_what_people_say_counts_in_the_cap_and_is_never_refused(ask):
    engine = Engine(CONFIG)
    engine.hear(NUMBER, 0.0)
    judgements = [ask(engine, to=f"+49151000000{person}") for person in (10, 11)]
    assert [one.verdict for one in judgements] == ["accepted", "throttled"]
    engine.hear(NUMBER, 0.5)
    assert ask(engine, at=1.1).verdict == "accepted"
    assert ask(engine, at=1.2, to="+4915100000012").verdict == "throttled"


def test_one_request_more_than_the_cap_is_130429_with_429(ask):
    engine = Engine(CONFIG)
    judgements = [ask(engine, to=f"+49151000000{person}") for person in (10, 11, 12)]
    assert [one.verdict for one in judgements] == ["accepted", "accepted", "throttled"]
    assert (judgements[-1].http_status, error_of(judgements[-1])["code"]) == (429, 130429)


def test_numbers_have_caps_of_their_own(ask):
    engine = Engine(changed(CONFIG, {"numbers": {NUMBER: {"messages_per_second": 1}, "7": {}}}))
    verdicts = [ask(engine, number=number).verdict for number in (NUMBER, NUMBER, "7")]
    assert verdicts == ["accepted", "throttled", "accepted"]


def test_too_many_messages_to_one_person_are_131056(ask):
    engine = Engine(changed(CONFIG, {"pair_burst_max": 1}))
    verdicts = [ask(engine).verdict, ask(engine, at=0.1).verdict]
    assert verdicts == ["accepted", "pair_limited"]


def test_a_scripted_error_takes_nothing_from_the_cap(ask):
    engine = Engine(changed(CONFIG, {"rules": [{"recipient": "+4915100000099", "code": 131026}]}))
    verdicts = [ask(engine, to="+4915100000099").verdict for _ in range(3)]
    assert verdicts == ["rejected:131026"] * 3
    assert ask(engine).verdict == "accepted"


def test_a_bad_gateway_answers_html(ask):
    engine = Engine(changed(CONFIG, {"rules": [{"http_status": 502}]}))
    judgement = ask(engine)
    assert (judgement.verdict, judgement.content_type) == ("rejected:http_502", "text/html")


def test_a_rule_may_add_headers(ask):
    rule = {"code": 80007, "http_status": 429, "headers": {"Retry-After": "3"}}
    assert ask(Engine(changed(CONFIG, {"rules": [rule]}))).headers == {"Retry-After": "3"}


def test_a_lost_answer_has_a_fate_and_a_wamid(ask):
    judgement = ask(Engine(changed(CONFIG, {"lost_answer_share": 1.0})))
    assert judgement.verdict == "lost_answer"
    assert judgement.fate.statuses
    assert judgement.wamid.startswith("wamid.")


def test_a_business_scoped_id_in_to_is_accepted_and_never_heard_of(ask):
    judgement = ask(Engine(CONFIG), to="US.13491208655302741918")
    assert (judgement.verdict, judgement.fate.statuses) == ("accepted", ())


def test_equal_seeds_give_equal_judgements():
    def run(seed):
        engine = Engine(changed(CONFIG, {"seed": seed}))
        body = b'{"messaging_product": "whatsapp", "to": "+4915100000000", "text": {}}'
        return engine.judge(Asked(1, 0.0, NUMBER, f"Bearer {TOKEN}", body))

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_a_new_config_keeps_the_window(ask):
    engine = Engine(CONFIG)
    ask(engine)
    engine.reconfigure(changed(CONFIG, {"numbers": {NUMBER: {"messages_per_second": 1}}}))
    assert ask(engine, to="+4915100000001").verdict == "throttled"


def test_a_rule_slows_an_answer():
    engine = Engine(Config(rules=(Rule(latency_seconds=12.0),)))
    body = b'{"messaging_product": "whatsapp", "to": "+4915100000000", "text": {}}'
    asked = Asked(1, 0.0, NUMBER, f"Bearer {TOKEN}", body)
    assert engine.judge(asked).latency_seconds == 12.0


def test_a_storm_refuses_what_is_over_a_cap_that_meta_lowered(ask):
    engine = Engine(Config(numbers={NUMBER: Number(messages_per_second=80)}))
    engine.reconfigure(Config(numbers={NUMBER: Number(messages_per_second=3)}))
    verdicts = [ask(engine, to=f"+4915100000{person}").verdict for person in range(100, 110)]
    assert verdicts == ["accepted"] * 3 + ["throttled"] * 7


def test_maintenance_of_a_minute_is_131057_and_then_over(ask):
    engine = Engine(changed(CONFIG, {"rules": [{"code": 131057, "lasts_seconds": 60.0}]}))
    judgements = [ask(engine, at=at, to=f"+491510000{int(at):04d}") for at in (0.0, 59.0, 60.0)]
    assert [one.verdict for one in judgements] == ["rejected:131057"] * 2 + ["accepted"]


def test_131056_is_of_one_pair_only(ask):
    rule = {"recipient": "+4915100000007", "code": 131056, "attempts": [1, 2]}
    engine = Engine(changed(CONFIG, {"rules": [rule]}))
    verdicts = [
        ask(engine, at=float(at), to=f"+491510000000{person}").verdict
        for at, person in enumerate([7, 8, 7, 9, 7])
    ]
    assert verdicts == [
        "rejected:131056", "accepted", "rejected:131056", "accepted", "accepted",
    ]  # fmt: skip


def test_134102_comes_with_http_500(ask):
    rules = [{"code": 134102, "http_status": 500}]
    judgement = ask(Engine(changed(CONFIG, {"rules": rules})))
    assert (judgement.http_status, error_of(judgement)["code"]) == (500, 134102)


def test_an_answer_may_be_cut_and_its_message_is_accepted(ask):
    judgement = ask(Engine(changed(CONFIG, {"rules": [{"truncate": True}]})))
    assert (judgement.verdict, judgement.http_status) == ("accepted", 200)
    assert judgement.fate.statuses
    with pytest.raises(ValueError, match=r"Unterminated|Expecting|delimiter"):
        json.loads(judgement.body)

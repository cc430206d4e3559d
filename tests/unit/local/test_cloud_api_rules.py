"""Scripted answers."""

from local.cloud_api.rules import Rule, RuleBook

PERSON = "+4915100000000"


def test_a_rule_is_for_its_recipient_only():
    rule = Rule(recipient=PERSON, code=131026)
    assert RuleBook([rule]).match("1", PERSON) is rule
    assert RuleBook([rule]).match("1", "+4915100000001") is None


def test_a_rule_for_the_second_request_lets_the_first_and_third_pass():
    rule = Rule(recipient=PERSON, attempts=(2,), code=131000)
    book = RuleBook([rule])
    assert [book.match("1", PERSON) for _ in range(3)] == [None, rule, None]


def test_a_rule_may_be_for_one_number():
    book = RuleBook([Rule(phone_number_id="2", code=131031)])
    assert book.match("1", PERSON) is None
    assert book.match("2", PERSON) is not None


def test_a_named_recipient_goes_before_everybody():
    everybody, named = Rule(code=131000), Rule(recipient=PERSON, silent=True)
    assert RuleBook([everybody, named]).match("1", PERSON) is named


def test_the_count_of_requests_outlives_new_rules():
    book = RuleBook([Rule(recipient=PERSON)])
    book.match("1", PERSON)
    book.replace([Rule(recipient=PERSON, attempts=(1,))])
    assert book.match("1", PERSON) is None


def test_an_asynchronous_error_does_not_refuse_the_request():
    assert not Rule(code=131049, asynchronous=True).refuses


def test_code_0_refuses_the_request():
    assert Rule(code=0).refuses


def test_a_bad_gateway_without_code_refuses_the_request():
    assert Rule(http_status=502).refuses


def test_a_rule_may_last_for_some_seconds_from_its_first_request():
    rule = Rule(code=131057, lasts_seconds=60.0)
    book = RuleBook([rule])
    assert [book.match("1", PERSON, at) for at in (5.0, 64.9, 65.0, 70.0)] == [
        rule,
        rule,
        None,
        None,
    ]

"""What preflight makes of each fact: every check passes, and every check can be made to fail."""

from dataclasses import replace

import pytest

from cli.preflight import of_account, of_meta
from cli.preflight.account import Absent, Identity, Valueless
from cli.preflight.checks import Report, Unreadable, failed, passed, warned
from cli.preflight.command import TOKEN_FIELDS, WEBHOOK_FIELDS
from cli.preflight.meta import KnownNumber
from infra.config import load_stage

STAGE = load_stage("example")
SLOW, FAST = STAGE.numbers
ACCOUNT = SLOW.account_id
NO = Unreadable("AccessDenied: no")
KNOWN = KnownNumber(SLOW.phone_number_id, "CONNECTED", "GREEN", "STANDARD", "TIER_100K")


def told(known, *, number=SLOW, stage=STAGE, others=None):
    """The states of a number's checks, by what they are about."""
    numbers = {number.phone_number_id: known}
    checks = of_meta.number_checks(stage, number, numbers, others or {})
    return {check.name.partition(": ")[2] or "number": check for check in checks}


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (of_account.identity_check, Identity("1", "arn:aws:iam::1:role/deploy"), [NO]),
        (lambda found: of_account.concurrency_check(STAGE, found), 1_000, [50, 900, NO]),
        (
            lambda found: of_account.policies_check(STAGE, found),
            {},
            [{"Filter policies per topic": 9.0}, {"Filter policies per account": 1.0}, NO],
        ),
        (lambda found: of_account.bootstrap_check(STAGE, found), 30, [5, Absent(), NO]),
        (
            lambda found: of_account.secret_check("token", found, fields=TOKEN_FIELDS),
            {"access_token": "hush"},
            [Valueless(), NO, None, {}, {"access_token": " "}, {"access_token": ["hush"]}],
        ),
        (
            lambda found: of_account.secret_check("webhook", found, fields=WEBHOOK_FIELDS),
            {"app_secrets": ["hush"], "verify_token": "hush"},
            [
                {"app_secrets": "hush", "verify_token": "hush"},
                {"app_secrets": [], "verify_token": "hush"},
                {"app_secrets": ["hush"]},
            ],
        ),
    ],
)
def test_a_fact_of_the_account_passes_and_another_fails_with_a_remedy(check, good, bad):
    assert check(good).state == "pass"
    for fact in bad:
        result = check(fact)
        assert (result.state, bool(result.found), bool(result.remedy)) == ("fail", True, True)
        assert "hush" not in result.found + result.remedy


def test_a_secret_before_the_first_deployment_is_a_warning():
    assert of_account.secret_check("token", Absent(), fields=TOKEN_FIELDS).state == "warn"


def test_another_region_in_the_terminal_is_a_warning():
    assert of_account.region_check(STAGE, None).state == "pass"
    assert of_account.region_check(STAGE, "eu-central-1").state == "pass"
    assert of_account.region_check(STAGE, "us-west-2").state == "warn"


def test_certificates_are_needed_where_the_database_is_ours(tmp_path):
    bundle = tmp_path / "bundle.pem"

    assert of_account.certificates_check(bundle, needed=True).state == "fail"
    assert of_account.certificates_check(bundle, needed=False).state == "pass"
    bundle.write_text("nothing", encoding="utf-8")
    assert of_account.certificates_check(bundle, needed=True).state == "fail"
    bundle.write_text("-----BEGIN CERTIFICATE-----", encoding="utf-8")
    assert of_account.certificates_check(bundle, needed=True).state == "pass"


def test_without_an_interpreter_of_the_runtime_there_is_a_warning():
    assert of_account.bytecode_check("python3.14", None).state == "warn"
    assert of_account.bytecode_check("python3.14", "/bin/python3.14").state == "pass"


def test_a_number_in_order_passes_everything():
    assert {check.state for check in told(KNOWN).values()} == {"pass"}
    assert len(told(KNOWN)) == 5


@pytest.mark.parametrize(
    ("about", "changes", "state"),
    [
        ("status", {"status": "PENDING"}, "fail"),
        ("status", {"status": ""}, "fail"),
        ("quality", {"quality": "RED"}, "fail"),
        ("quality", {"quality": "YELLOW"}, "warn"),
        ("throughput", {"throughput": "NOT_APPLICABLE"}, "fail"),
        ("throughput", {"throughput": ""}, "fail"),
        ("messaging limit", {"messaging_limit": ""}, "warn"),
        ("messaging limit", {"messaging_limit": "TIER_UNLIMITED"}, "pass"),
    ],
)
def test_each_fact_of_a_number_is_judged_alone(about, changes, state):
    checks = told(replace(KNOWN, **changes))

    assert checks.pop(about).state == state
    assert {check.state for check in checks.values()} == {"pass"}


def test_a_cap_over_the_granted_throughput_fails():
    fast = replace(KNOWN, phone_number_id=FAST.phone_number_id)

    assert told(fast, number=FAST)["throughput"].state == "fail"
    high = replace(fast, throughput="HIGH")
    assert told(high, number=FAST)["throughput"].state == "pass"


def test_a_daily_limit_over_what_meta_grants_fails():
    stage = replace(STAGE, daily_limits={SLOW.portfolio_id: 2_000})

    assert (
        told(replace(KNOWN, messaging_limit="TIER_250"), stage=stage)["messaging limit"].state
        == "fail"
    )
    assert (
        told(replace(KNOWN, messaging_limit="TIER_2K"), stage=stage)["messaging limit"].state
        == "pass"
    )


@pytest.mark.parametrize(
    ("known", "others", "words"),
    [
        (NO, {}, "AccessDenied"),
        ({}, {}, "has no such number"),
        ({}, {"7": {SLOW.phone_number_id: KNOWN}}, "is of account 7"),
        ({}, {"7": NO}, "has no such number"),
    ],
)
def test_a_number_that_is_not_of_its_account_fails_once(known, others, words):
    (check,) = of_meta.number_checks(STAGE, SLOW, known, others)

    assert check.state == "fail"
    assert words in check.found


@pytest.mark.parametrize(
    ("apps", "app", "state"),
    [
        (frozenset({"1", "2"}), "2", "pass"),
        (frozenset({"1"}), "2", "fail"),
        (frozenset(), "2", "fail"),
        (NO, "2", "fail"),
        (frozenset({"1"}), NO, "warn"),
    ],
)
def test_the_webhooks_of_an_account_must_come_to_the_app_of_the_token(apps, app, state):
    assert of_meta.subscription_check(ACCOUNT, apps, app).state == state


def test_a_report_fails_where_one_check_does_and_not_by_warnings():
    good = Report("dev", [passed("a", "b"), warned("c", "d", "e")])
    bad = Report("dev", [*good.checks, failed("f", "g", "h")])

    assert (good.failed, bad.failed) == (False, True)
    assert bad.lines()[-1] == "1 pass, 1 warn, 1 fail"
    assert "        h" in bad.lines()
    assert good.as_json()["ready"] is True

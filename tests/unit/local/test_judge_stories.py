"""The judges of the stories: each of their checks holds of what is right, and can fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from local.judge.aftermath import Aftermath, Truth, aftermath_checks
from local.judge.checks import Check, everybody, nobody
from local.judge.conversation import Stop, Talk, conversation_checks
from local.judge.held import Held, Silence, held_checks
from local.judge.launch import Launch, launch_checks
from local.judge.limits import Limits, limits_checks

FIRST, SECOND = "106540352242922", "106540352242923"

TALK = Talk(
    said={"in.1", "in.2", "in.3"},
    told=["in.1", "in.2", "in.3"],
    answers={"in.1": "reminder"},
    campaign="reminder",
    asked={"a.1", "a.2"},
    answer_seconds={"a.1": 0.4, "a.2": 1.9},
    answered={"a.1", "a.2"},
    stops=[Stop(f"+49{place}", 100.0, None if place < 25 else 103.0) for place in range(30)],
    talked={"+491": SECOND},
    fixed={"+492": FIRST},
    sent_by={"+491": {SECOND}, "+492": {FIRST}},
)
LAUNCH = Launch(
    refusals={
        "misfit": ["template: no header", "category: is utility", "split: there is none in fr"],
        "not approved": ["template: is PENDING, not APPROVED"],
        "approved by the topic": ["approve and decline do not count by the topic: …"],
        "another content": ["the id is used with another content"],
    },
    uploads={FIRST: 1, SECOND: 1},
    tested={(FIRST, "short"): 2, (SECOND, "short"): 2},
    tests={(FIRST, "short"): 2, (SECOND, "short"): 2},
    approved_at=10.0,
    approved_by="AROA:grace",
    passed_at=20.0,
    canary=2,
    sent_at=[11.0, 12.0, 21.0],
    sent={"+491": ["short"], "+492": ["place"], "+493": ["short"]},
    sides={"+491": "short", "+492": "place", "+493": "short"},
    left_out={"suppressed": ["+494"], "held out": ["+495"]},
    holdout=1,
)
LIMITS = Limits(
    opens_at=60.0,
    told_opens_at=[60.0, 60.0],
    sends={"one": [61.0, 62.0], "other": [70.0]},
    limits=(10, 20),
    contacted=[10, 20],
    deferrable_contacted=[0, 5],
    waits_for=["the daily limit of its portfolio"],
    twice_marketed=(),
    in_both=3,
    too_often=3,
    closed=["+499"],
    expired=1,
    sent_to={"+491"},
    paused_at=100.0,
    resumed_at=110.0,
    paused_number_sends=[99.0, 101.5, 111.0],
    other_number_sends=[105.0],
)
HELD = Held(
    held_seen=4,
    released={"+491"},
    dropped={"+492"},
    again={"+492"},
    sends=[1.0, 12.0, 40.0],
    silences=[Silence("the template is paused", told_at=5.0, known_at=10.0, ends_at=30.0)],
    paused_for={
        "meta": ["paused: template paused: PAUSED", "resumed: ", "paused: template category: …"],
        "ada": ["resume: "],
    },
    rate_factors={FIRST: 1.0, SECOND: 0.5},
    slowed=SECOND,
    signals=["account_alerts", "messages"],
    told=["messages", "account_alerts"],
)
EXPORTED = {"address": "+491", "phone_number_id": FIRST, "wamid": "w.1", "status": "read"}
AFTERMATH = Aftermath(
    retryable=["+491", "+492"],
    previewed=2,
    previewed_codes={131000: 2},
    failed_codes={131000: 2},
    sent_again=["+492", "+491"],
    sent_after_the_order_came_again=0,
    csv={"1": EXPORTED},
    parquet={"1": EXPORTED},
    truth={"1": Truth("+491", FIRST, "w.1", "read")},
    manifest_rows=1,
    errors={131026: 1},
    ended={131026: 1},
    delivered=2,
    delivered_truth=2,
    redriven=1,
    scheduled_at_aws=True,
    started=1,
    person_before=7,
    person_after={"recipient": 0},
    rows_after={"delivery": 0},
    counters_before={"done": 2},
    counters_after={"done": 2},
    sent_after_deletion=0,
)
RIGHT = [
    (conversation_checks, TALK),
    (launch_checks, LAUNCH),
    (limits_checks, LIMITS),
    (held_checks, HELD),
    (aftermath_checks, AFTERMATH),
]
NOBODY_STOPPED = [replace(one, sent_at=101.0) for one in TALK.stops]
WRONG: list[tuple[Callable[[Any], tuple[Check, ...]], Any, dict[str, Any], str]] = [
    (conversation_checks, TALK, {"told": ["in.1", "in.2"]}, "subscribers hear"),
    (conversation_checks, TALK, {"told": ["in.1", "in.2", "in.3", "in.3"]}, "subscribers hear"),
    (conversation_checks, TALK, {"answers": {"in.1": None}}, "no answer is told without"),
    (conversation_checks, TALK, {"answered": {"a.1"}}, "everybody who asks is answered"),
    (conversation_checks, TALK, {"answer_seconds": {"a.1": 0.4, "a.2": 2.5}}, "nine of ten"),
    (conversation_checks, TALK, {"answer_seconds": {}}, "nine of ten"),
    (conversation_checks, TALK, {"stops": [Stop("+1", 100.0, 105.0)]}, "nobody is sent to"),
    (conversation_checks, TALK, {"stops": NOBODY_STOPPED}, "who stopped before"),
    (conversation_checks, TALK, {"talked": {"+491": FIRST}}, "whoever talks"),
    (conversation_checks, TALK, {"sent_by": {"+491": {SECOND}}}, "a number that the audience"),
    (launch_checks, LAUNCH, {"refusals": {}}, "a request that does not fit"),
    (launch_checks, LAUNCH, {"refusals": {}}, "refused: not approved"),
    (launch_checks, LAUNCH, {"refusals": {}}, "refused: approved by the topic"),
    (launch_checks, LAUNCH, {"refusals": {}}, "refused: another content"),
    (launch_checks, LAUNCH, {"uploads": {FIRST: 2, SECOND: 1}}, "the picture"),
    (launch_checks, LAUNCH, {"tested": {(FIRST, "short"): 2}}, "the test reaches"),
    (launch_checks, LAUNCH, {"approved_at": 11.5}, "nobody is sent to before a second"),
    (launch_checks, LAUNCH, {"approved_by": None}, "nobody is sent to before a second"),
    (launch_checks, LAUNCH, {"passed_at": 22.0}, "the canary"),
    (launch_checks, LAUNCH, {"left_out": {"suppressed": ["+491"], "held out": []}}, "suppressed"),
    (launch_checks, LAUNCH, {"left_out": {"held out": ["+493"]}}, "held out"),
    (launch_checks, LAUNCH, {"sent": {"+491": ["place"]}}, "everybody gets the variant"),
    (launch_checks, LAUNCH, {"sent": {"+491": ["short", "short"]}}, "everybody gets the variant"),
    (launch_checks, LAUNCH, {"sent": {"+491": ["short"]}}, "everybody else is sent to"),
    (launch_checks, LAUNCH, {"holdout": 2}, "the report counts the holdout"),
    (limits_checks, LIMITS, {"opens_at": 61.5}, "nobody is sent to before the window"),
    (limits_checks, LIMITS, {"told_opens_at": []}, "the reports tell"),
    (limits_checks, LIMITS, {"told_opens_at": [60.0, 0.0]}, "the reports tell"),
    (limits_checks, LIMITS, {"sends": {}}, "nobody is sent to before the window"),
    (limits_checks, LIMITS, {"contacted": [11, 20]}, "the daily limit of 10"),
    (limits_checks, LIMITS, {"contacted": [10, 19]}, "the daily limit of 20"),
    (limits_checks, LIMITS, {"waits_for": ["its hours"]}, "the report says that the limit"),
    (limits_checks, LIMITS, {"deferrable_contacted": [1, 5]}, "while a normal campaign"),
    (limits_checks, LIMITS, {"deferrable_contacted": [0, 0]}, "made normal"),
    (limits_checks, LIMITS, {"twice_marketed": {"+491"}}, "nobody gets more marketing"),
    (limits_checks, LIMITS, {"in_both": 0}, "nobody gets more marketing"),
    (limits_checks, LIMITS, {"too_often": 2}, "the report counts who had too much"),
    (limits_checks, LIMITS, {"sent_to": {"+499"}}, "nobody is sent to in a zone"),
    (limits_checks, LIMITS, {"expired": 0}, "who could not be sent to in time"),
    (limits_checks, LIMITS, {"paused_number_sends": [105.0, 111.0]}, "a paused number"),
    (limits_checks, LIMITS, {"other_number_sends": []}, "a paused number"),
    (limits_checks, LIMITS, {"paused_number_sends": [99.0]}, "a resumed number"),
    (held_checks, HELD, {"held_seen": 0}, "a held message has a status"),
    (held_checks, HELD, {"released": ()}, "what Meta holds and releases"),
    (held_checks, HELD, {"again": ()}, "what Meta holds and drops"),
    (held_checks, HELD, {"dropped": (), "again": ()}, "what Meta holds and drops"),
    (held_checks, HELD, {"sends": [1.0, 20.0, 40.0]}, "nothing leaves while the template"),
    (held_checks, HELD, {"silences": [Silence("slow", 1.0, 27.0, 35.0)]}, "nothing leaves"),
    (held_checks, HELD, {"silences": [Silence("late", 25.0, 28.0, 30.0)]}, "nothing leaves"),
    (held_checks, HELD, {"sends": [1.0, 12.0]}, "nothing leaves while the template"),
    (held_checks, HELD, {"paused_for": {}}, "the audit says that meta"),
    (held_checks, HELD, {"paused_for": {}}, "the audit says that ada"),
    (held_checks, HELD, {"paused_for": {"ada": ["resume: "]}}, "the audit says that ada"),
    (held_checks, HELD, {"paused_for": {"meta": ["resumed: "]}}, "the audit says that meta"),
    (held_checks, HELD, {"rate_factors": {FIRST: 0.5, SECOND: 0.5}}, "an error of a number"),
    (held_checks, HELD, {"rate_factors": {FIRST: 1.0, SECOND: 1.0}}, "an error of a number"),
    (held_checks, HELD, {"signals": ["messages"]}, "whatever Meta tells"),
    (aftermath_checks, AFTERMATH, {"previewed": 3}, "the preview counts"),
    (aftermath_checks, AFTERMATH, {"previewed_codes": {131026: 2}}, "the preview tells"),
    (aftermath_checks, AFTERMATH, {"sent_again": ["+491"]}, "the order sends"),
    (aftermath_checks, AFTERMATH, {"sent_again": ["+491", "+492", "+491"]}, "the order sends"),
    (aftermath_checks, AFTERMATH, {"sent_after_the_order_came_again": 1}, "the same order again"),
    (aftermath_checks, AFTERMATH, {"parquet": {}}, "CSV and Parquet"),
    (aftermath_checks, AFTERMATH, {"csv": {"1": {**EXPORTED, "status": "sent"}}}, "the export is"),
    (aftermath_checks, AFTERMATH, {"csv": {"1": {**EXPORTED, "wamid": "w.2"}}}, "the export is"),
    (aftermath_checks, AFTERMATH, {"csv": {}}, "the export is"),
    (aftermath_checks, AFTERMATH, {"manifest_rows": 2}, "the export has everybody"),
    (aftermath_checks, AFTERMATH, {"errors": {}}, "the report's errors"),
    (aftermath_checks, AFTERMATH, {"delivered": 1}, "the report's delivered"),
    (aftermath_checks, AFTERMATH, {"redriven": 2}, "a dead letter"),
    (aftermath_checks, AFTERMATH, {"scheduled_at_aws": False}, "the schedule is kept"),
    (aftermath_checks, AFTERMATH, {"started": 2}, "a start that is told twice"),
    (aftermath_checks, AFTERMATH, {"person_after": {"signal": 1}}, "an erased person"),
    (aftermath_checks, AFTERMATH, {"person_before": 0}, "an erased person"),
    (aftermath_checks, AFTERMATH, {"rows_after": {"message": 1}}, "of the deleted campaign"),
    (aftermath_checks, AFTERMATH, {"counters_after": {}}, "its counters stay"),
    (aftermath_checks, AFTERMATH, {"sent_after_deletion": 1}, "published again"),
]


@pytest.mark.parametrize(("checks", "right"), RIGHT, ids=lambda one: type(one).__name__)
def test_what_is_right_holds(checks: Callable[[Any], tuple[Check, ...]], right: Any) -> None:
    assert [check for check in checks(right) if not check.holds] == []


@pytest.mark.parametrize(("checks", "right", "change", "name"), WRONG)
def test_what_is_wrong_does_not_hold(
    checks: Callable[[Any], tuple[Check, ...]], right: Any, change: dict[str, Any], name: str
) -> None:
    broken = [check.name for check in checks(replace(right, **change)) if not check.holds]

    assert [one for one in broken if name in one], broken


@pytest.mark.parametrize(("checks", "right"), RIGHT, ids=lambda one: type(one).__name__)
def test_every_check_is_seen_to_fail(
    checks: Callable[[Any], tuple[Check, ...]], right: Any
) -> None:
    seen_to_fail = {
        check.name
        for one, of, change, _ in WRONG
        if one is checks
        for check in one(replace(of, **change))
        if not check.holds
    }

    assert {check.name for check in checks(right)} <= seen_to_fail


def test_of_nobody_nothing_holds() -> None:
    assert not nobody("none is wrong", [], of=0).holds
    assert not everybody("all are there", [], []).holds

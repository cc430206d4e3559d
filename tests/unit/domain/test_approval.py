"""What becomes of a decision about a campaign, as it stands."""

import pytest

from sluice.domain.approval import AWAITED, DECLINED, GIVEN, Standing, Verdict, verdict
from sluice.domain.carried import Refused
from sluice.domain.models.command import Decision

HASH, OTHER = "a" * 64, "b" * 64


def found(action="approve", *, asked=None, **standing):
    order = Decision(action=action, campaign="spring", request_hash=asked)
    known = {"state": "running", "loaded": True, "approval": AWAITED, "request_hash": HASH}
    answer = verdict(order, Standing(**known | standing))
    return (
        answer.reasons[0].removeprefix("campaign spring ")
        if isinstance(answer, Refused)
        else answer
    )


@pytest.mark.parametrize("action", ["approve", "decline"])
@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        ({}, Verdict.NOW),
        ({"state": "paused"}, Verdict.NOW),
        ({"asked": HASH}, Verdict.NOW),
        ({"asked": OTHER}, "has another request_hash"),
        ({"loaded": False, "approval": None}, Verdict.EARLY),
        ({"approval": None}, "needs no approval"),
        ({"state": "cancelled"}, "has ended"),
        ({"state": "finished", "approval": None}, "has ended"),
    ],
)
def test_a_decision_is_about_what_is_loaded_held_and_meant(action, standing, expected):
    assert found(action, **standing) == expected


@pytest.mark.parametrize(
    ("action", "standing", "expected"),
    [
        ("approve", {"approval": GIVEN}, Verdict.AGAIN),
        ("approve", {"approval": GIVEN, "state": "finished"}, Verdict.AGAIN),
        ("approve", {"approval": GIVEN, "asked": OTHER}, "has another request_hash"),
        ("decline", {"approval": DECLINED, "state": "cancelled"}, Verdict.AGAIN),
        ("decline", {"approval": GIVEN}, "is approved already: cancel it"),
        ("approve", {"approval": DECLINED, "state": "cancelled"}, "has ended"),
    ],
)
def test_the_first_decision_counts(action, standing, expected):
    assert found(action, **standing) == expected

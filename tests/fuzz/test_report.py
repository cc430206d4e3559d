"""Questions to the report on real Postgres: each has an answer, or a problem that says why not."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.report.handler import handle
from tests.fuzz.shapes import ANY_TEXT, JSON, NASTY

NAMES = ("campaign", "suppressions", "audience", "schedule", "test", "erase", "parked", "audit")
QUESTION = st.dictionaries(
    st.sampled_from([*NAMES, "details", "resend", "newest", "number"]),
    ANY_TEXT
    | NASTY
    | JSON
    | st.sampled_from(["reminder", True, "failed", {"campaign": "reminder"}]),
    max_size=3,
)
ONE = st.sampled_from(NAMES).flatmap(
    lambda name: st.fixed_dictionaries({name: ANY_TEXT | NASTY | st.just("reminder")})
)
AUDIT = st.fixed_dictionaries({
    "audit": st.dictionaries(
        st.sampled_from(["newest", "campaign", "number", "schedule"]),
        st.integers() | NASTY | ANY_TEXT,
        max_size=2,
    )
})  # fmt: skip


class NothingParked:
    def take(self, **_hidden):
        return []

    def show_again(self, _parked):
        pass

    def approximate_count(self):
        return 0


@pytest.fixture
def answer(world, clock):
    world.campaign()

    def ask(question):
        return handle(
            question,
            reports=world.reports,
            resends=world.resends,
            messages=NothingParked(),
            prices=lambda: pytest.fail("not asked for"),
            clock=clock,
        )

    return ask


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(QUESTION | ONE | AUDIT)
def test_every_question_has_an_answer_that_json_can_tell(answer, question):
    if question.get("details") is True or "resend" in question:
        question = {name: value for name, value in question.items() if name != "campaign"}

    told = answer(question)

    assert json.loads(json.dumps(told, default=str))

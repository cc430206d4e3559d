"""The journal of the senders: ids in ranges, and the last word on each delivery."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.aftermath import Attempt
from sluice.domain.claim import Claimed, Key, Result
from sluice.domain.delivery import State, Status
from sluice.domain.journal import MARK, Fate, Noted, became, claimed, latest, noted_in

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
KEYS = st.tuples(st.sampled_from([57, 1_000_000_001]), st.integers(0, 300), st.integers(1, 3))


def row(campaign_id, seq, attempt):
    return Claimed(Key(campaign_id, seq), attempt, NOW, "+49", {}, None)


def result(seq, state, *, wamid=None):
    return Result(Key(57, seq), 1, NOW, state, Status.NONE, None, wamid=wamid)


def line(fields):
    return json.dumps({"message": MARK, "phone_number_id": "106", **fields})


def noted(fate, attempt=1, *, seconds=0, seq=1):
    return Noted(Attempt(57, seq, attempt), fate, "106", NOW + timedelta(seconds=seconds))


def test_positions_in_a_row_are_a_range():
    rows = [row(57, seq, 1) for seq in (1, 2, 3, 7, 9, 10)]

    assert claimed(rows) == {"claimed": {"57": {"1": "1-3,7,9-10"}}}


@given(st.sets(KEYS, min_size=1))
def test_what_is_written_is_read(keys):
    read = noted_in(line(claimed(row(*key) for key in keys)), at=NOW)

    assert {one.attempt for one in read} == {Attempt(*key) for key in keys}
    assert {(one.fate, one.phone_number_id, one.at) for one in read} == {
        (Fate.CLAIMED, "106", NOW)
    }  # fmt: skip


def test_nothing_is_noted_of_nothing():
    assert claimed([]) == became([]) == {}


def test_an_unknown_result_stays_what_its_claim_was():
    results = [
        result(1, State.DONE, wamid="wamid.1"),
        result(2, State.UNKNOWN),
        result(3, State.PENDING),
        result(4, State.FAILED),
    ]

    assert became(results) == {
        "accepted": {"57": {"1": "1"}},
        "returned": {"57": {"1": "3-4"}},
    }


def test_other_lines_of_a_log_note_nothing():
    assert noted_in("START RequestId: 1", at=NOW) == []
    assert noted_in('{"message": "sent", "claimed": 40}', at=NOW) == []
    assert noted_in('["message"]', at=NOW) == []


def test_that_meta_took_it_is_never_taken_back():
    known = latest([noted(Fate.CLAIMED), noted(Fate.ACCEPTED), noted(Fate.CLAIMED)])

    assert known[Key(57, 1)].fate is Fate.ACCEPTED


def test_what_was_returned_and_claimed_again_may_have_left():
    known = latest([noted(Fate.CLAIMED), noted(Fate.RETURNED), noted(Fate.CLAIMED)])

    assert known[Key(57, 1)].fate is Fate.CLAIMED


def test_the_latest_attempt_counts():
    known = latest([noted(Fate.RETURNED, 1), noted(Fate.CLAIMED, 2), noted(Fate.ACCEPTED, 1)])

    assert (known[Key(57, 1)].fate, known[Key(57, 1)].attempt.attempt) == (Fate.CLAIMED, 2)

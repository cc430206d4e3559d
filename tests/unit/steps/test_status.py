"""Status: what is decided before anything is written."""

from datetime import UTC, datetime

import pytest

from sluice.domain.aftermath import Applied
from sluice.domain.delivery import update_of
from sluice.steps.status import StatusWriter, latest_attempts, write_split
from tests.conftest import SetClock

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Statuses:
    """Writes everything, but for the sequence numbers that are poison."""

    def __init__(self, poison=(), known=None):
        self.poison, self.known = set(poison), known or {}
        self.applied, self.orphans, self.calls = [], [], 0

    def apply(self, updates, **_more):
        self.calls += 1
        if self.poison & {update.seq for update in updates}:
            raise ValueError("poison")
        self.applied += updates
        return Applied(len(updates), 0)

    def attempts_before(self, _failures):
        return {}

    def resolve(self, wamids):
        return {wamid: self.known[wamid] for wamid in wamids if wamid in self.known}

    def learn(self, user_ids):
        self.learnt = user_ids

    def keep_orphans(self, orphans, *, now):
        assert now == NOW
        self.orphans += orphans


def told(seq, attempt=1, status="sent", at=1_772_355_600):
    opaque = {"opaque": f"1:{seq}:{attempt}"} if seq is not None else {}
    return {"id": f"wamid.{seq}.{attempt}", "status": status, "timestamp": str(at), **opaque}


def split(statuses, messages, fatal=OSError):
    return write_split(messages, writer=writer(statuses), fatal=fatal)


def writer(statuses):
    return StatusWriter(statuses=statuses, stops=None, clock=SetClock(NOW), dice=lambda: 0.5)


def test_the_latest_attempt_of_a_delivery_makes_the_others_history():
    updates = [update_of(told(seq, attempt)) for seq, attempt in [(1, 1), (1, 3), (2, 1)]]

    assert [(one.seq, one.attempt) for one in latest_attempts(updates)] == [(1, 3), (2, 1)]


def test_a_whole_batch_is_one_statement():
    statuses = Statuses()

    applied, failures = split(statuses, {str(seq): [told(seq)] for seq in range(10)})

    assert (len(applied), failures, statuses.calls) == (1, {}, 1)
    assert len(statuses.applied) == 10


@pytest.mark.parametrize("poison", [{0}, {4}, {9}, {2, 3}, {0, 5, 9}])
def test_a_poison_message_fails_alone_wherever_it_stands(poison):
    statuses = Statuses(poison)

    _, failures = split(statuses, {str(seq): [told(seq)] for seq in range(10)})

    assert failures.keys() == set(map(str, poison))
    assert {update.seq for update in statuses.applied} == set(range(10)) - poison


def test_what_no_splitting_helps_passes_through():
    with pytest.raises(ValueError, match="poison"):
        split(Statuses({1}), {"a": [told(1)], "b": [told(2)]}, fatal=ValueError)


def test_a_status_without_our_id_is_matched_by_its_wamid_or_kept():
    statuses = Statuses(known={"wamid.None.1": (1, 7, 2)})
    strange = told(None, 9)

    applied = writer(statuses).write([told(None), strange])

    assert [(one.seq, one.attempt) for one in statuses.applied] == [(7, 2)]
    assert [one.wamid for one in statuses.orphans] == [strange["id"]]
    assert (applied.statuses, applied.updates, applied.orphans) == (2, 1, 1)


def test_what_is_no_status_is_told_and_not_written():
    strange = {"id": "wamid.A", "status": "in_orbit", "timestamp": "1772355600"}

    applied = writer(Statuses()).write([strange, told(1)])

    assert applied.invalid == [strange]
    assert applied.reached == 1


def test_the_oldest_status_of_the_batch_is_told():
    batch = [told(1, at=1_772_355_600), told(2, at=1_772_355_000), told(1, at=1_772_355_700)]

    applied = writer(Statuses()).write(batch)

    assert applied.oldest_at == datetime.fromtimestamp(1_772_355_000, UTC)


def test_a_status_that_brings_the_user_id_tells_whose_message_it_was():
    statuses = Statuses()
    brought = [
        told(1) | {"user": "US.134"},
        told(2) | {"user": "12025550101"},
        told(3),
    ]

    split(statuses, {"message": brought})

    assert statuses.learnt == {(1, 1): "US.134"}

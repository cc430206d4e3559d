"""Reading the ledger: windows, duplicates, rates."""

import sqlite3
from contextlib import closing

import pytest

from local.cloud_api import ledger

NUMBER = "106540352242922"


@pytest.fixture
def write(tmp_path):
    path = tmp_path / "ledger.sqlite"

    def write_rows(*rows):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(ledger.SCHEMA)
            for arrived, opaque_id, verdict in rows:
                connection.execute(
                    "INSERT INTO request VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, '')",
                    (arrived, arrived + 1e9, NUMBER, "+491", opaque_id, verdict, f"w{opaque_id}"),
                )
        return path

    return write_rows


def test_offered_and_accepted_windows_are_counted_apart(write):
    path = write((0.0, "", "accepted"), (0.5, "", "throttled"), (0.9, "", "lost_answer"))
    assert ledger.windows_over(path, 1) == {
        NUMBER: ledger.WindowUse(
            cap=1,
            offered_max=3,
            offered_windows_over=2,
            accepted_max=2,
            accepted_windows_over=1,
        )
    }


def test_each_number_may_have_its_own_cap(write):
    path = write((0.0, "", "accepted"), (0.5, "", "accepted"))
    assert ledger.windows_over(path, {NUMBER: 2})[NUMBER].accepted_windows_over == 0


def test_a_recipient_accepted_twice_is_a_duplicate_whatever_the_attempt(write):
    path = write(
        (0.0, "c:1:1", "accepted"), (1.0, "c:2:1", "accepted"), (2.0, "c:1:2", "lost_answer")
    )
    assert ledger.duplicates(path) == [ledger.Duplicate("c:1", (1, 2), ("wc:1:1", "wc:1:2"))]


def test_a_refused_attempt_is_no_duplicate(write):
    path = write((0.0, "c:1:1", "throttled"), (1.0, "c:1:1", "accepted"))
    assert ledger.duplicates(path) == []


def test_opaque_ids_of_another_form_are_no_duplicates(write):
    path = write((0.0, "hello", "accepted"), (1.0, "hello", "accepted"))
    assert ledger.duplicates(path) == []


def test_accepted_requests_are_found_by_opaque_id(write):
    path = write((0.0, "c:1:1", "held"), (1.0, "c:2:1", "rejected:131026"))
    found = ledger.accepted_by_opaque_id(path)
    assert {key: [row.verdict for row in rows] for key, rows in found.items()} == {
        "c:1:1": ["held"]
    }


def test_the_rate_between_the_first_and_the_last_send_counts_gaps(write):
    path = write((10.0, "", "accepted"), (10.5, "", "accepted"), (11.0, "", "accepted"))
    use = ledger.rate_use(path, NUMBER)
    assert (use.sends, use.first, use.last) == (3, 1e9 + 10, 1e9 + 11)
    assert use.sends_per_second == pytest.approx(2.0)


def test_the_rate_in_an_interval_is_over_all_of_it(write):
    path = write((10.0, "", "accepted"), (10.5, "", "accepted"), (14.0, "", "accepted"))
    use = ledger.rate_use(path, NUMBER, since=1e9 + 10, until=1e9 + 14)
    assert (use.sends, use.sends_per_second) == (2, 0.5)


def test_a_number_without_sends_has_rate_zero(write):
    assert ledger.rate_use(write(), NUMBER) == ledger.RateUse(0, None, None, 0.0)


def test_the_summary_counts_by_number_and_verdict(write):
    path = write((0.0, "", "accepted"), (1.0, "", "accepted"), (2.0, "", "throttled"))
    assert ledger.summary(path) == {
        "requests": {NUMBER: {"accepted": 2, "throttled": 1}},
        "statuses": {},
    }

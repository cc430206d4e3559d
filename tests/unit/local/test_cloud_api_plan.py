"""The fate of an accepted message."""

import statistics
from random import Random

import pytest

from local.cloud_api.config import Config, changed
from local.cloud_api.plan import lognormal, plan
from local.cloud_api.rules import Rule

ALL_READ = Config(delivered_share=1.0, read_share=1.0)


def fate(rule=None, /, **shares):
    return plan(changed(ALL_READ, shares), Random(1), rule)


def told(a_fate):
    return [planned.status for planned in sorted(a_fate.statuses, key=lambda one: one.posted)]


def test_a_message_is_sent_delivered_and_read():
    assert told(fate()) == ["sent", "delivered", "read"]


def test_read_may_come_without_delivered():
    read = fate(read_without_delivered_share=1.0)
    assert told(read) == ["sent", "read"]
    assert all(planned.priced for planned in read.statuses)


def test_a_message_that_is_not_delivered_stays_sent():
    assert told(fate(delivered_share=0.0)) == ["sent"]


def test_disorder_tells_the_later_status_first_with_its_own_time():
    disordered = fate(disorder_share=1.0)
    assert told(disordered) == ["sent", "read", "delivered"]
    assert max(disordered.statuses, key=lambda one: one.occurs).status == "read"


def test_a_duplicate_is_told_again():
    assert told(fate(duplicate_share=1.0)) == ["sent", "delivered", "read", "read"]


def test_a_late_status_is_posted_long_after_it_occurred():
    last = fate(late_share=1.0, late_seconds=100.0).statuses[-1]
    assert last.posted - last.occurs == pytest.approx(100.0)


def test_an_early_status_occurs_before_the_answer():
    early = fate(early_share=1.0)
    assert early.early
    assert (early.statuses[0].status, early.statuses[0].posted) == ("sent", 0.0)


def test_a_lost_status_leaves_nothing_to_tell():
    assert fate(lost_status_share=1.0).statuses == ()


def test_a_failed_message_was_sent_before():
    assert told(fate(failed_share=1.0)) == ["sent", "failed"]


def test_a_held_message_waits():
    held = fate(held_share=1.0, held_seconds=50.0)
    assert held.held
    assert min(planned.occurs for planned in held.statuses) > 50.0


def test_a_held_message_may_be_dropped_with_132015():
    (failed,) = fate(held_share=1.0, held_dropped_share=1.0).statuses
    assert (failed.status, failed.code) == ("failed", 132015)


def test_a_rule_may_fail_a_message_later():
    (failed,) = fate(Rule(code=131049, details="capped", asynchronous=True)).statuses
    assert (failed.status, failed.code, failed.details) == ("failed", 131049, "capped")


def test_a_rule_may_fail_a_message_after_sent():
    assert told(fate(Rule(code=131026, asynchronous=True, sent_first=True))) == ["sent", "failed"]


def test_a_rule_may_lose_the_answer_and_every_status():
    lost = fate(Rule(lose_answer=True, silent=True))
    assert lost.lost_answer
    assert lost.statuses == ()


def test_equal_dice_give_equal_fates():
    assert fate() == fate()


def test_one_share_does_not_move_the_delays():
    assert fate().latency_seconds == fate(held_share=1.0).latency_seconds


def test_the_median_of_the_delays_is_what_was_asked():
    dice = Random(1)
    draws = [lognormal(dice, 0.18, 0.35) for _ in range(4001)]
    assert statistics.median(draws) == pytest.approx(0.18, rel=0.05)


def test_a_rule_may_deliver_a_message_after_it_failed():
    recovered = fate(Rule(code=131026, asynchronous=True, recovers=True))
    assert told(recovered) == ["failed", "delivered"]

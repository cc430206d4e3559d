"""Redrive: what a minute allows, sent before it is deleted."""

from dataclasses import dataclass, field

import pytest

from sluice.domain.letter import REDRIVES, Letter
from sluice.domain.limits import REDRIVES_MAX, SQS_DELAY_SECONDS_MAX
from sluice.steps.redrive import redrive
from tests.conftest import SetClock


@dataclass
class Route:
    """A route that writes down the order of everything."""

    letters: list[Letter]
    name: str = "work"
    messages_per_second: float = 4.0
    done: list[tuple] = field(default_factory=list)

    def take(self, *_limit, **_limits):
        taken, self.letters = self.letters[:1], self.letters[1:]
        return taken

    def send(self, letter, *, redrives, delay_seconds):
        self.done.append(("send", letter.handle, redrives, delay_seconds))

    def park(self, letter, reason):
        self.done.append(("park", letter.handle, reason))

    def bury(self, letter):
        self.done.append(("bury", letter.handle))


def letter(redrives=0, handle="a"):
    return Letter(handle, "body", {REDRIVES: str(redrives)})


def run(route, *, dice=0.5, clock=None):
    return redrive(routes=[route], clock=clock or SetClock(), dice=lambda: dice)


def test_each_letter_is_sent_before_it_is_deleted():
    route = Route([letter(handle="a"), letter(handle="b")])

    run(route)

    assert [(one[0], one[1]) for one in route.done] == [
        ("send", "a"),
        ("bury", "a"),
        ("send", "b"),
        ("bury", "b"),
    ]


def test_a_letter_is_parked_before_it_is_deleted():
    route = Route([letter(REDRIVES_MAX)])

    run(route)

    assert [one[0] for one in route.done] == ["park", "bury"]


@pytest.mark.parametrize("redrives", range(REDRIVES_MAX))
def test_the_delay_is_jitter_under_a_doubling_bound_that_sqs_takes(redrives):
    delays = []
    for dice in (0.0, 0.5, 0.999):
        route = Route([letter(redrives)])
        run(route, dice=dice)
        delays.append(route.done[0][3])

    bound = min(SQS_DELAY_SECONDS_MAX, 15 * 2**redrives)
    assert delays == [0, int(bound * 0.5), int(bound * 0.999)]


def test_nothing_is_taken_after_most_of_the_minute_is_over():
    clock = SetClock()

    class Slow(Route):
        def take(self, *_limit, **_limits):
            clock.advance(20)
            return super().take()

    route = Slow([letter(handle=str(number)) for number in range(9)])
    run(route, clock=clock)

    assert len(route.letters) == 6


def test_what_was_done_is_counted_by_route():
    done = run(Route([letter(), letter(), letter(5)]))

    assert (done.redriven, done.parked) == ({"work": 2}, {"work": 1})

"""Hours of a campaign in seconds, with everything going wrong that may."""

import pytest

from tests.simulation.planted import PLANTED, planted
from tests.simulation.shrink import shrunk
from tests.simulation.system import Plan, System, ViolationError

SEEDS = 8
"""In every run of the tests; `make simulate` runs as many as you like."""

MISTAKE_SEEDS = 40
LIKELY = {
    "a claim does not look at the state": 1,
    "a claim sends for paused campaigns": 1,
    "what is unknown is tried again": 1,
    "what a dead sender had is sent again": 4,
    "the policy of unknown rows is not asked": 1,
    "statuses of an older attempt count": 14,
    "a failure that is told twice is final": 37,
    "a webhook is answered before it is queued": 1,
    "statuses that could not be written are taken for written": 1,
}
"""Seeds that saw it: tried first, so that the tests take no longer than they must."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_goes_wrong_what_must_hold_holds(seed, database_url):
    system = System(Plan(seed), database_url).run()

    assert system.meta.accepted
    assert len(system.faults.struck) >= 10, "kinds of faults"


def test_a_run_is_the_same_again(postgres):
    found = []
    for turn in range(2):
        url = postgres.create_database(f"again_{turn}", template="template")
        system = System(Plan(3, recipients=40), url).run()
        found.append((system.trace, system.meta.requests, system.faults.struck))
        postgres.drop_database(f"again_{turn}")

    assert found[0] == found[1]


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_mistake_is_seen(mistake, postgres):
    for seed in sorted(range(MISTAKE_SEEDS), key=lambda seed: seed != LIKELY.get(mistake)):
        url = postgres.create_database("mistaken", template="template")
        try:
            with planted(mistake, url):
                System(Plan(seed), url).run()
        except ViolationError:
            return
        finally:
            postgres.drop_database("mistaken")
    pytest.fail(f"no seed of {MISTAKE_SEEDS} saw it: {mistake}")


def test_a_failure_shrinks_to_what_it_needs():
    def fails(plan):
        return "crash" not in plan.without and plan.recipients >= 20

    least = shrunk(Plan(1), fails)

    assert least.recipients == 20
    assert least.faults_seconds == 15.0
    assert "crash" not in least.without
    assert "stall" in least.without

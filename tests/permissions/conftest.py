"""The whole system, started once, with policies that are read."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from local.system import System
from tests.permissions.answers import answers
from tests.permissions.kinds import KINDS, TOGETHER
from tests.permissions.running import strict_system
from tests.permissions.traffic import Passed, Traffic

AT_ONCE = 2


@pytest.fixture(scope="session")
def strict() -> Iterator[System]:
    with strict_system() as running:
        yield running


@pytest.fixture(scope="session")
def traffic(strict: System) -> Traffic:
    return Traffic(strict)


@pytest.fixture(scope="session")
def passed(traffic: Traffic) -> Passed:
    """A message of each kind, at a time when no permission is taken away."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        tries = {kind: pool.submit(kind, traffic) for kind in TOGETHER}
    with ThreadPoolExecutor(1) as pool:
        tries |= {kind: pool.submit(kind, traffic) for kind in KINDS if kind not in tries}
    errors = {kind: one.exception() for kind, one in tries.items()}
    return Passed(errors, frozenset(answers(traffic.system.aws)))

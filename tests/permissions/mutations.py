"""What becomes of a message when its function may do one thing less.

``python -m tests.permissions.mutations`` takes every permission away, one after the other, and
prints a line for each. It takes about a quarter of an hour.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

from tests.permissions.answers import (
    Answer,
    Permission,
    answers,
    answers_so_far,
    permissions,
    without,
)
from tests.permissions.kinds import KINDS
from tests.permissions.running import strict_system
from tests.permissions.traffic import Passing, Traffic

TRIES: Final = 3
"""The local AWS may give the first message to a worker that is dead, and loses it for an hour."""
PATIENCE_SECONDS: Final = 30.0


def refusal(traffic: Traffic, permission: Permission, kind: Passing) -> Answer | None:
    """Send a message of a kind without a permission; returns what was refused for that, if any."""
    aws, since = traffic.system.aws, answers_so_far(traffic.system.aws)

    def refused() -> Answer | None:
        told = answers(aws, since=since)
        return next((one for one in told if not one.allowed and permission.covers(one)), None)

    # What they read before, secrets for example, they would remember.
    for worker in aws.workers(permission.function):
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    impatient = traffic.impatient(PATIENCE_SECONDS, stops=refused)
    with without(aws, permission):
        for _ in range(TRIES):
            with suppress(Exception):
                kind(impatient)
            if answer := refused():
                return answer
    return None


def needed_by(traffic: Traffic) -> dict[Permission, Passing]:
    """A kind of message for each permission, found by sending one of each."""
    aws, found = traffic.system.aws, dict[Permission, Passing]()
    for kind in KINDS:
        since = answers_so_far(aws)
        kind(traffic)
        for permission in permissions(aws) - found.keys():
            if any(permission.covers(answer) for answer in answers(aws, since=since)):
                found[permission] = kind
    return found


def main() -> int:
    """Take each permission away; the exit status is the number of those that nobody missed."""
    unmissed = 0
    with strict_system() as system:
        traffic = Traffic(system)
        for permission, kind in sorted(needed_by(traffic).items(), key=lambda item: item[0]):
            refused = refusal(traffic, permission, kind)
            unmissed += refused is None
            verdict = "refused" if refused else "NOT MISSED"
            sys.stdout.write(
                f"{verdict}: {permission.function} {permission.action} {permission.resource}"
                f" ({kind.__name__})\n"
            )
            sys.stdout.flush()
    return unmissed


if __name__ == "__main__":
    sys.exit(main())

"""Fuzzing by hand: ``python -m tests.fuzz --seconds 600``; every target has its share of them.

With atheris (``make fuzz`` installs it) the search is led by the branches that an input reaches;
without it inputs are drawn by chance. A finding is printed by Hypothesis as the example that
fails, and ends the run with 1.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

MODULES = ("test_webhook", "test_requests", "test_audience", "test_envelopes")
BYTES_MAX = 8_192


def targets() -> Iterator[str]:
    """Every property that needs nothing but its input."""
    for name in MODULES:
        module = importlib.import_module(f"tests.fuzz.{name}")
        yield from (
            f"{name}.{key}" for key, one in vars(module).items() if hasattr(one, "hypothesis")
        )


def by_chance(feed: Callable[[bytes], object], seconds: float) -> int:
    """Feed bytes of the machine's dice, and return how often."""
    give_up_at, runs = time.monotonic() + seconds, 0
    while time.monotonic() < give_up_at:
        feed(os.urandom(1 + runs * 37 % BYTES_MAX))
        runs += 1
    return runs


def led_by_branches(load: Callable[[], Callable[[bytes], object]], seconds: float) -> None:
    """Let atheris search. It ends this process."""
    import atheris  # noqa: PLC0415 - not in the requirements of the project

    with atheris.instrument_imports(include=["sluice", "functions"]):
        feed = load()
    options = [f"-max_total_time={seconds:.0f}", f"-max_len={BYTES_MAX}", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options], lambda data: feed(data) and None)
    atheris.Fuzz()


def one(target: str, seconds: float) -> None:
    """Fuzz one target."""
    module, _, name = target.partition(".")

    def load() -> Callable[[bytes], object]:
        found: ModuleType = importlib.import_module(f"tests.fuzz.{module}")
        feed: Callable[[bytes], object] = getattr(found, name).hypothesis.fuzz_one_input
        return feed

    if find_spec("atheris"):
        led_by_branches(load, seconds)
    else:
        by_chance(load(), seconds)


def main() -> int:
    """Fuzz every target, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of all targets together")
    parser.add_argument("--target", help="this one alone, in this process")
    arguments = parser.parse_args()
    if arguments.target:
        one(arguments.target, arguments.seconds)
        return 0
    names = list(targets())
    share = max(1.0, arguments.seconds / len(names))
    broken = []
    for name in names:
        command = [sys.executable, "-m", "tests.fuzz", "--target", name, "--seconds", str(share)]
        if subprocess.run(command, check=False).returncode:
            broken.append(name)
    told = {"targets": len(names), "seconds": share, "led": bool(find_spec("atheris"))}
    print(json.dumps({**told, "broken": broken}))
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())

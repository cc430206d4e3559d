"""``python -m local run``: the main job on this machine. Exit status 0 only if all of it holds."""

import argparse
import json
import signal
import sys
from types import FrameType

from rich.console import Console

from local.run import run
from local.scenarios import SCENARIOS
from local.view import print_judgement


def main() -> int:
    """Read the command line and run."""
    arguments = _parser().parse_args()
    # Ended from outside, we end like Ctrl-C: everything that was started is stopped.
    signal.signal(signal.SIGTERM, _interrupt)
    console = Console(stderr=arguments.json)
    try:
        judgement = run(SCENARIOS[arguments.scenario], console)
    except KeyboardInterrupt:
        console.print("stopped; everything that was started has ended")
        return 130
    if arguments.json:
        json.dump(judgement.as_json(), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_judgement(judgement, console)
    return 0 if judgement.holds else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run_command = commands.add_parser("run", help="send the sample campaign and judge it")
    run_command.add_argument(
        "--scenario", choices=sorted(SCENARIOS), default="calm", help="what the campaign meets"
    )
    run_command.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())

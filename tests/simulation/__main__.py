"""Many runs of the simulation; one that fails is shrunk and printed with its seed."""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic

from local.postgres import Postgres, start_postgres
from local.processes import Processes
from sluice.adapters.postgres.migrate import migrate
from tests.conftest import connect
from tests.simulation.faults import FAULTS
from tests.simulation.shrink import shrunk
from tests.simulation.system import Plan, System, ViolationError

TRACED_LINES = 30


class Runs:
    """Runs, each in a database of its own that is dropped afterwards."""

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._made = 0
        self.struck: Counter[str] = Counter()
        self.requests = 0

    def failure_of(self, plan: Plan) -> str | None:
        """Run a plan; returns what went wrong and the end of its trace, None: nothing."""
        self._made += 1
        name = f"run_{self._made}"
        system = System(plan, self._server.create_database(name, template="template"))
        try:
            system.run()
        except ViolationError as violation:
            return "\n".join([str(violation), *system.trace[-TRACED_LINES:]])
        finally:
            self.struck += system.faults.struck
            self.requests += system.meta.requests
            self._server.drop_database(name)
        return None

    def shrink(self, plan: Plan) -> str:
        """Return the least that fails, and how."""
        least = shrunk(plan, lambda one: self.failure_of(one) is not None, told=_tell)
        kinds = ", ".join(kind for kind in FAULTS if kind not in least.without)
        return f"{least}\n{self.failure_of(least)}\nit needs: {kinds}"


def main() -> int:
    """Run seeds until one fails; ends with one line of JSON."""
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many, default 100")
    parser.add_argument("--first", type=int, default=0, help="the first one, default 0")
    options = parser.parse_args()
    began_at = monotonic()
    with tempfile.TemporaryDirectory() as directory, Processes(Path(directory)) as processes:
        Path(directory).chmod(0o755)
        server = start_postgres(processes, run_directory=Path(directory))
        database = connect(server.create_database("template"))
        migrate(database)
        database.close()
        runs = Runs(server)
        done, failed = _run(runs, range(options.first, options.first + options.seeds))
        processes.stop(server.process)
    figures = {
        "simulation": "campaign",
        "seeds": done,
        "failed_seed": failed,
        "requests": runs.requests,
        "faults": dict(sorted(runs.struck.items())),
        "seconds": round(monotonic() - began_at, 1),
    }
    print(json.dumps(figures))
    return int(failed is not None)


def _run(runs: Runs, seeds: range) -> tuple[int, int | None]:
    """Return how many were run, and the one that failed."""
    for done, seed in enumerate(seeds, start=1):
        failure = runs.failure_of(Plan(seed))
        print(f"\r{done} of {len(seeds)} seeds", end="", file=sys.stderr, flush=True)
        if failure is not None:
            _tell(f"\n{failure}\nshrinking …")
            _tell(runs.shrink(Plan(seed)))
            return done, seed
    _tell("")
    return len(seeds), None


def _tell(what: str) -> None:
    print(what, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

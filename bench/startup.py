"""What a cold start loads, how long it takes and how large it is: ``python -m bench.startup``."""

import ast
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.harness import Bar, Spread, arguments, conclude, progress, say
from infra.bundling import ROOT, Code, code_of, runtime_of_host
from infra.config import load_stage
from infra.sizes import LAYERS_OF_ITS_OWN, UNZIPPED_BYTES_MAX
from infra.stage import HOST_RUNTIME
from sluice import settings
from sluice.settings import FUNCTION_VARIABLES

WEBHOOK_MILLISECONDS_MAX: Final = 300.0
HEAVY: Final = (
    "aws_lambda_powertools", "boto3", "duckdb", "phonenumbers", "psycopg", "pydantic", "requests",
)  # fmt: skip
"""What takes longer to load than everything of ours."""
ASK_AT_ONCE: Final = frozenset({"accounts", "numbers", "routes"})
"""Ports that ask AWS when they are made."""
TOLD: Final = dict.fromkeys(set().union(*FUNCTION_VARIABLES.values()), "1") | {
    settings.DATABASE_URL: "postgresql://nobody@127.0.0.1:1/none",
    settings.DATABASE_IAM: "false",
    settings.LANE: "bulk",
    settings.FREQUENCY_CAP: "null",
    settings.WORDS: "{}",
}
"""Nothing is asked and nothing is opened, so any value does that can be read."""
ENVIRONMENT: Final = {
    **TOLD,
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "none",
    "POWERTOOLS_SERVICE_NAME": "startup",
    "POWERTOOLS_METRICS_NAMESPACE": "startup",
}
PROBE: Final = """
import json, sys, time
paths, modules, ports, heavy = json.loads(sys.argv[1])
sys.path[:0] = paths

def loaded():
    return [name for name in heavy if name in sys.modules]

began = time.perf_counter(), time.process_time()
for module in modules:
    __import__(module)
imported = time.perf_counter(), time.process_time()
at_import = loaded()
if ports:
    import inspect
    from sluice import wiring
    for port in ports:
        make = getattr(wiring, port)
        if all(one.default is not one.empty for one in inspect.signature(make).parameters.values()):
            make()
ready = time.process_time()
print(json.dumps({
    "import_wall": imported[0] - began[0], "import_cpu": imported[1] - began[1],
    "ready_cpu": ready - began[1], "loaded": at_import, "loaded_when_ready": loaded(),
}))
"""


@dataclass(frozen=True)
class Start:
    """One start in an interpreter of its own; milliseconds."""

    import_wall: float
    import_cpu: float
    """Of the processor: what other programs take on the same cores is not in it."""
    ready_cpu: float
    """The same until every port is made, the clients of AWS among them."""
    loaded: tuple[str, ...]
    """Which of ``HEAVY`` the import loaded."""
    loaded_when_ready: tuple[str, ...]


def start(paths: Iterable[Path], modules: Sequence[str], ports: Sequence[str] = ()) -> Start:
    """Import the modules as Lambda would, in a fresh interpreter, and then make the ports.

    Without writing bytecode: Lambda cannot either. Raises ``AssertionError`` with what it said.
    """
    argument = json.dumps([[str(path) for path in paths], modules, ports, HEAVY])
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", PROBE, argument],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    seconds = {name: told[name] for name in ("import_wall", "import_cpu", "ready_cpu")}
    return Start(
        **{name: 1_000 * value for name, value in seconds.items()},
        loaded=tuple(told["loaded"]),
        loaded_when_ready=tuple(told["loaded_when_ready"]),
    )


def start_function(step: str, code: Code) -> Start:
    """Start one function."""
    return start(search_path(step, code), ["handler"], ports_of(step))


def search_path(step: str, code: Code) -> list[Path]:
    """Where the function finds its modules, in Lambda's order; boto3 is the machine's."""
    layers = [code.core, code.dependencies, *layers_of_its_own(step, code)]
    return [code.functions[step], *(layer / "python" for layer in layers)]


def layers_of_its_own(step: str, code: Code) -> list[Path]:
    """The layers beside those that every function has."""
    return [getattr(code, layer) for layer in LAYERS_OF_ITS_OWN.get(step, ())]


def ports_of(step: str, *, root: Path = ROOT) -> list[str]:
    """What the handler takes from ``wiring`` and can be made without asking anybody."""
    handler = root / "functions" / step / "handler.py"
    tree = ast.parse(handler.read_text(encoding="utf-8"))
    (wired,) = (
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "lambda_handler"
    )
    named = {
        node.attr
        for node in ast.walk(wired)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "wiring"
    }
    return sorted(named - ASK_AT_ONCE)


@dataclass(frozen=True)
class Size:
    """Of a function and its layers."""

    unzipped_bytes: int
    zipped_bytes: int

    def __add__(self, other: "Size") -> "Size":
        """Return both together."""
        return Size(
            self.unzipped_bytes + other.unzipped_bytes, self.zipped_bytes + other.zipped_bytes
        )

    def as_json(self) -> dict[str, float]:
        """Return it for machines, in MiB."""
        return {
            "unzipped_mebibytes": round(self.unzipped_bytes / 2**20, 2),
            "zipped_mebibytes": round(self.zipped_bytes / 2**20, 2),
        }


def size_of(folder: Path) -> Size:
    """What a folder takes, and its zip as the CDK makes it."""
    buffer, unzipped = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            unzipped += file.stat().st_size
            archive.write(file, file.relative_to(folder))
    return Size(unzipped, buffer.tell())


def sizes_of(code: Code) -> dict[str, Size]:
    """Of each function with all its layers."""
    common = size_of(code.core) + size_of(code.dependencies)
    own = {
        step: sum((size_of(layer) for layer in layers_of_its_own(step, code)), Size(0, 0))
        for step in code.functions
    }
    return {step: size_of(folder) + common + own[step] for step, folder in code.functions.items()}


@dataclass(frozen=True)
class Function:
    """The starts of one function, and of its libraries alone, in turn."""

    starts: Sequence[Start]
    bare: Sequence[Start]

    def spread(self, name: str) -> Spread:
        """Return one of its figures over all rounds."""
        return Spread(tuple(getattr(one, name) for one in self.starts))

    @property
    def bare_cpu(self) -> Spread:
        """Its libraries alone."""
        return Spread(tuple(one.import_cpu for one in self.bare))

    @property
    def ours(self) -> float:
        """The import against that of its libraries alone, in the middle."""
        return median(
            one.import_cpu / other.import_cpu
            for one, other in zip(self.starts, self.bare, strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """Return it for machines."""
        return {
            **{f"{name}_milliseconds": self.spread(name).as_json() for name in _FIGURES},
            "libraries_cpu_milliseconds": self.bare_cpu.as_json(),
            "loaded": list(self.starts[0].loaded),
            "loaded_when_ready": list(self.starts[0].loaded_when_ready),
        }


_FIGURES: Final = ("import_wall", "import_cpu", "ready_cpu")


def measure(code: Code, *, rounds: int) -> tuple[dict[str, Function], dict[str, Spread]]:
    """The functions, and each library alone; all of them once in each round."""
    starts: dict[str, list[Start]] = {step: [] for step in sorted(code.functions)}
    bare: dict[str, list[Start]] = {step: [] for step in starts}
    alone: dict[str, list[Start]] = {library: [] for library in HEAVY}
    everything = [layer / "python" for layer in (code.dependencies, code.parquet)]
    with progress() as shown:
        task = shown.add_task("starts", total=rounds * (2 * len(starts) + len(alone)))
        for _ in range(rounds):
            for step, found in starts.items():
                found.append(start_function(step, code))
                bare[step].append(start(search_path(step, code)[1:], found[0].loaded))
                shown.advance(task, 2)
            for library, found in alone.items():
                found.append(start(everything, [library]))
                shown.advance(task)
    return (
        {step: Function(found, bare[step]) for step, found in starts.items()},
        {name: Spread(tuple(one.import_cpu for one in found)) for name, found in alone.items()},
    )


def main() -> int:
    """Measure, tell and judge."""
    parser = arguments(__doc__, rows=0, rounds=5)
    parser.add_argument("--stage", default="example", help="whose runtime is weighed")
    told = parser.parse_args()
    runtime = load_stage(told.stage).runtime
    functions, libraries = measure(code_of(HOST_RUNTIME), rounds=told.rounds)
    sizes = sizes_of(code_of(runtime))
    say(f"milliseconds of processor time on {runtime_of_host()}; sizes for {runtime}, arm64")
    for step, function in functions.items():
        _tell(step, function, sizes[step])
    for library, spread in libraries.items():
        say(f"  {library} alone: {spread}")
    bars = [*_bars(functions, sizes)]
    figures = {
        "rounds": told.rounds,
        "functions": {
            step: {**function.as_json(), **sizes[step].as_json()}
            for step, function in functions.items()
        },
        "libraries_cpu_milliseconds": {name: one.as_json() for name, one in libraries.items()},
    }
    return conclude("startup", figures, bars)


def _tell(step: str, function: Function, size: Size) -> None:
    told = size.as_json()
    say(
        f"{step}: import {function.spread('import_cpu')}, {function.ours:.2f} of its libraries, "
        f"ready {function.spread('ready_cpu')}; {told['zipped_mebibytes']} MiB zipped, "
        f"{told['unzipped_mebibytes']} unzipped; loads {', '.join(function.starts[0].loaded)}"
    )


def _bars(functions: Mapping[str, Function], sizes: Mapping[str, Size]) -> Iterable[Bar]:
    webhook = functions["webhook"].spread("import_cpu")
    yield Bar(
        f"the webhook's imports take under {WEBHOOK_MILLISECONDS_MAX:.0f} ms of the processor",
        webhook.median < WEBHOOK_MILLISECONDS_MAX,
        f"{webhook} ms",
    )
    largest = max(sizes, key=lambda step: sizes[step].unzipped_bytes)
    yield Bar(
        "every function fits with its layers into what Lambda takes",
        sizes[largest].unzipped_bytes <= UNZIPPED_BYTES_MAX,
        f"{largest} is the largest: {sizes[largest].unzipped_bytes / 2**20:.0f} MiB of 250",
    )


if __name__ == "__main__":
    sys.exit(main())

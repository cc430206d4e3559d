"""Every handler imports as Lambda imports it, reads nothing then, and loads only what it uses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sluice import settings
from sluice.settings import FUNCTION_VARIABLES

ROOT = Path(__file__).parents[2]
CORE = ROOT / "layers" / "core" / "python"
IMPORT = """
import json, os, sys
root, folder, core = sys.argv[1:]
sys.path[:] = [folder, core, *(path for path in sys.path if path not in (root, core, ""))]
read, original = set(), type(os.environ).__getitem__

def watched(environment, name):
    read.add(name)
    return original(environment, name)

type(os.environ).__getitem__ = watched
import handler
assert handler.__file__ == os.path.join(folder, "handler.py")
assert callable(handler.handle) and callable(handler.lambda_handler)
print(json.dumps({"read": sorted(read), "modules": sorted(sys.modules)}))
"""
HEAVY = {"psycopg", "pydantic", "phonenumbers", "requests", "urllib3"}
OWN = {"duckdb": "export"}
"""Only this step has it."""
SPARED = {
    "webhook": HEAVY - {"urllib3"},
    "redrive": {"psycopg", "pydantic", "phonenumbers", "requests"},
    "erase": {"requests"},
    "export": {"requests"},
    "report": {"phonenumbers", "requests"},
    "migrate": {"phonenumbers", "requests"},
}
"""What a step does not need, and so does not load."""


def imported(step):
    """What importing the handler of a step read and loaded, in an interpreter of its own."""
    folder = ROOT / "functions" / step
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", IMPORT, str(ROOT), str(folder), str(CORE)],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=sorted(FUNCTION_VARIABLES))
def step(request):
    return request.param, imported(request.param)


def test_nothing_of_ours_is_read_from_the_environment_at_import(step):
    _, told = step

    ours = {value for name, value in vars(settings).items() if name.isupper() and value == name}
    assert len(ours) > 10
    assert not ours & set(told["read"])


def test_a_step_loads_only_what_it_uses(step):
    name, told = step

    spared = SPARED.get(name, set()) | {module for module, owner in OWN.items() if owner != name}
    assert not spared & set(told["modules"])


def test_no_step_loads_what_only_this_machine_has(step):
    _, told = step

    assert not {"infra", "local", "functions", "tests", "aws_cdk", "moto"} & set(told["modules"])

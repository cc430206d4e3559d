"""Every variable is told to whom reads it, read by whom is told it, and missed by its name."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from sluice import settings, wiring
from sluice.domain.failures import FailedError
from sluice.settings import FUNCTION_VARIABLES

ROOT = Path(__file__).parents[2]
STEPS = sorted(FUNCTION_VARIABLES)
VARIABLES = {
    name: value
    for name, value in vars(settings).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str)
}


def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


WIRING = {
    name: function
    for path in Path(wiring.__file__).parent.glob("*.py")
    for name, function in functions_of(path).items()
}


def read_by(function):
    """The variables that a function of wiring reads, itself or by what it calls."""
    read = set()
    for node in ast.walk(WIRING[function]):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "settings":
            read |= {node.attr} & set(VARIABLES)
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            read |= read_by(called) if called in WIRING and called != function else set()
    return read


def wired(step):
    """What the handler of a step takes from wiring."""
    handler = functions_of(ROOT / "functions" / step / "handler.py")["lambda_handler"]
    return {
        node.attr
        for node in ast.walk(handler)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "wiring"
    }


def test_a_variable_is_named_as_it_is():
    assert len(VARIABLES) >= 15
    assert {name for name, value in VARIABLES.items() if name != value} == set()


@pytest.mark.parametrize("step", STEPS)
def test_a_function_is_told_exactly_what_it_reads(step):
    read = set().union(*(read_by(name) for name in wired(step)))

    assert read == set(FUNCTION_VARIABLES[step])


def test_every_variable_is_told_to_some_function():
    assert set().union(*FUNCTION_VARIABLES.values()) == set(VARIABLES)


def test_wiring_is_the_only_reader_of_the_environment():
    readers = {
        path.name
        for folder in ("layers/core/python/sluice", "functions")
        for path in (ROOT / folder).rglob("*.py")
        if "environ" in path.read_text(encoding="utf-8")
        and "import os" in path.read_text(encoding="utf-8")
    }

    assert readers == {"environment.py"}


@pytest.fixture
def nothing_told(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("nothing_told")
@pytest.mark.parametrize("step", STEPS)
def test_a_function_that_is_told_nothing_names_everything_it_misses(step):
    handler = import_module(f"functions.{step}.handler")

    with pytest.raises(FailedError, match="SettingMissingError") as caught:
        handler.lambda_handler({}, None)

    assert [name for name in FUNCTION_VARIABLES[step] if name not in str(caught.value)] == []


@pytest.mark.usefixtures("nothing_told")
@pytest.mark.parametrize("step", STEPS)
def test_one_missing_variable_is_named_alone(step, monkeypatch):
    first, *others = FUNCTION_VARIABLES[step]
    for name in others:
        monkeypatch.setenv(name, "told")
    monkeypatch.setenv(first, "")

    with pytest.raises(wiring.SettingMissingError, match=f"^{step} is not told {first}$"):
        wiring.require(step)


@pytest.mark.usefixtures("nothing_told")
def test_a_variable_that_is_read_but_missing_is_named():
    with pytest.raises(wiring.SettingMissingError, match="PHONE_NUMBER_ID"):
        wiring.phone_number_id()

"""One word a step: the same in functions, modules, constructs, samples and tests."""

import ast
from pathlib import Path

import pytest

from sluice.settings import FUNCTION_VARIABLES

ROOT = Path(__file__).parents[2]
STEPS = sorted(FUNCTION_VARIABLES)
WITHOUT_SAMPLES = {"migrate"}
"""Invoked at deployments, with an event that says nothing."""
WITHOUT_MODULE = {"migrate"}
"""The adapter is all there is to it."""
NO_STEPS = {"answers", "audiences"}
"""What Meta answers, and files of people."""


def words(folder, pattern="*"):
    """The names in a folder, without what Python makes."""
    return {path.stem for path in (ROOT / folder).glob(pattern) if not path.stem.startswith("_")}


def test_each_step_is_a_function():
    assert words("functions") == set(STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_a_function_s_folder_is_one_handler(step):
    files = {path.name for path in (ROOT / "functions" / step).iterdir()} - {"__pycache__"}

    assert files == {"handler.py"}


@pytest.mark.parametrize("step", STEPS)
def test_a_handler_has_handle_for_tests_and_lambda_handler_for_lambda(step):
    tree = ast.parse((ROOT / "functions" / step / "handler.py").read_text(encoding="utf-8"))

    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in functions if not name.startswith("_")}
    assert public == {"handle", "lambda_handler"}
    assert len(functions["handle"].args.args) == 1, "the event; the ports are named"
    assert len(functions["lambda_handler"].args.args) == 2
    # Lambda logs the words of whatever leaves it.
    assert [ast.unparse(one) for one in functions["lambda_handler"].decorator_list] == [
        "wiring.discreet"
    ]


def test_each_step_is_a_construct():
    assert words("infra/steps") == set(STEPS)


def test_each_step_is_a_module():
    assert words("layers/core/python/sluice/steps") == set(STEPS) - WITHOUT_MODULE


def test_each_step_has_samples_that_are_files_of_json():
    assert words("events") - NO_STEPS == set(STEPS) - WITHOUT_SAMPLES
    for step in set(STEPS) - WITHOUT_SAMPLES:
        assert list((ROOT / "events" / step).glob("*.json"))
        assert {path.suffix for path in (ROOT / "events" / step).iterdir()} == {".json"}


def sampled(path):
    """The steps whose whole folder of samples a test file is parametrised over."""
    return {
        argument.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "parametrize"
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "samples"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }


def test_every_sample_is_fed_to_its_handler():
    files = (ROOT / "tests" / "integration" / "functions").glob("test_*.py")

    fed = set().union(*map(sampled, files))

    assert fed == set(STEPS) - WITHOUT_SAMPLES

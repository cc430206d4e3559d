"""Small files and small functions."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("layers", "functions", "infra", "local", "cli")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
FILE_LINES_MAX = 300
FUNCTION_LINES_MAX = 60
"""Of the body: ports are named one a line, and a signature is quickly read."""


def name_of(path):
    return str(path.relative_to(ROOT))


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_is_short(path):
    assert len(lines_of(path)) <= FILE_LINES_MAX


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_functions_are_short(path):
    long = {
        node.name: lines
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := node.end_lineno - node.body[0].lineno + 1) >= FUNCTION_LINES_MAX
    }

    assert long == {}

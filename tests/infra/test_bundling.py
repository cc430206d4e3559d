"""What ships has its bytecode, and nothing that a test left behind."""

import subprocess
import sys

import pytest

from infra import bundling
from infra.bundling import compiler_of, runtime_of_host, staged


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "step"
    (folder / "deeper").mkdir(parents=True)
    (folder / "handler.py").write_text("ANSWER = 42\n", encoding="utf-8")
    (folder / "deeper" / "words.txt").write_text("words", encoding="utf-8")
    return folder


def shipped(folder, tmp_path, runtime="host"):
    return staged(folder, runtime, build_directory=tmp_path / "build")


def test_what_ships_is_compiled_and_is_run_without_looking_at_its_source(folder, tmp_path):
    copy = shipped(folder, tmp_path)

    (copy / "handler.py").write_text("ANSWER = 0\n", encoding="utf-8")
    program = "import sys; sys.path.insert(0, sys.argv[1]); import handler; print(handler.ANSWER)"
    command = [sys.executable, "-I", "-B", "-c", program, str(copy)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert told == "42\n"
    assert (copy / "deeper" / "words.txt").read_text(encoding="utf-8") == "words"


def test_the_same_code_ships_as_the_same_bytes_whatever_was_run_before(folder, tmp_path):
    first = shipped(folder, tmp_path)
    files = {path.relative_to(first): path.read_bytes() for path in first.rglob("*.*")}
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "handler.cpython-30.pyc").write_bytes(b"old")

    again = staged(folder, "host", build_directory=tmp_path / "elsewhere")

    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*.*")} == files


def test_changed_code_ships_from_another_folder(folder, tmp_path):
    first = shipped(folder, tmp_path)
    (folder / "handler.py").write_text("ANSWER = 41\n", encoding="utf-8")

    assert shipped(folder, tmp_path) != first


def test_without_an_interpreter_of_the_runtime_the_source_ships_alone(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(bundling, "compiler_of", lambda _: None)

    copy = shipped(folder, tmp_path, "python3.19")

    assert sorted(path.name for path in copy.rglob("*.*")) == ["handler.py", "words.txt"]


def test_an_interpreter_is_taken_only_if_it_is_of_the_runtime(tmp_path, monkeypatch):
    shim = tmp_path / "python3.19"
    shim.write_text("#!/bin/sh\necho python3.18\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    compiler_of.cache_clear()

    assert compiler_of("python3.19") is None
    shim.write_text("#!/bin/sh\necho python3.19\n", encoding="utf-8")
    compiler_of.cache_clear()
    assert compiler_of("python3.19") == str(shim)
    assert compiler_of(runtime_of_host()) == compiler_of("host") == sys.executable
    compiler_of.cache_clear()

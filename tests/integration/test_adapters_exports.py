"""Files on their way to S3: the folder they are made in, and the place they are kept at."""

import hashlib
import os
import subprocess
import sys
from contextlib import suppress

import pytest

from sluice.adapters.storage import Storage
from sluice.adapters.workplace import workplace

PLACE = "s3://exports/reminder/"


@pytest.fixture
def storage(aws):
    aws.client("s3").create_bucket(Bucket="exports")
    return Storage(aws.client("s3"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "part.csv"
    path.write_bytes(b"seq\n1\n2\n")
    return path


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("sluice.adapters.workplace.gettempdir", lambda: str(tmp_path))
    return tmp_path


def test_a_file_comes_back_as_it_was_with_what_was_said_of_it(storage, file, tmp_path):
    assert storage.put(PLACE, "a/part.csv", file, rows=2) == "written"

    told = storage.describe(PLACE, "a/part.csv")
    assert storage.fetch(PLACE, "a/part.csv", tmp_path / "back") == 2
    assert (tmp_path / "back").read_bytes() == file.read_bytes()
    assert (told.rows, told.size_bytes) == (2, 8)
    assert told.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_what_is_there_is_not_written_over(storage, file, tmp_path):
    storage.put(PLACE, "part.csv", file, rows=2)
    file.write_bytes(b"seq\n")

    assert storage.put(PLACE, "part.csv", file, rows=0) == "there"

    assert storage.fetch(PLACE, "part.csv", tmp_path / "back") == 2


def test_only_keys_that_begin_as_asked_are_listed(storage):
    for key in ("a/1", "a/2", "b/3", "manifest.json", "c/4"):
        storage.put_text(PLACE, key, "")
    storage.put_text("s3://exports/", "a/5", "")

    found = storage.keys(PLACE, within=("a/", "b/", "manifest.json"))

    assert found == {"a/1", "a/2", "b/3", "manifest.json"}


def test_more_keys_than_one_page_are_all_listed(storage):
    for place in range(1_001):
        storage.put_text(PLACE, f"a/{place}", "")

    assert len(storage.keys(PLACE, within=("a/",))) == 1_001


def test_a_bucket_that_does_not_exist_has_no_keys_and_takes_nothing(storage, file):
    assert storage.keys("s3://no-bucket/", within=("",)) is None
    assert storage.put("s3://no-bucket/", "a", file, rows=2) == "denied"


def test_a_workplace_is_empty_and_gone_afterwards(temporary):
    with workplace() as folder:
        assert list(folder.iterdir()) == []
        (folder / "part.csv").write_text("left")
    assert list(temporary.iterdir()) == []


def test_a_workplace_is_gone_after_a_failure_too(temporary):
    with suppress(RuntimeError), workplace() as folder:
        (folder / "part.csv").write_text("left")
        raise RuntimeError

    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_swept_and_what_a_running_one_has_is_not(temporary):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    killed, running = (temporary / f"sluice-work-{pid}" for pid in (ended.pid, os.getppid()))
    for folder in (killed, running):
        folder.mkdir()
        (folder / "part.csv").write_text("left")

    with workplace():
        assert not killed.exists()
        assert running.exists()

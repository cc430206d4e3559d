"""Which heavy modules each function loads, at its import and by its first event, and no other."""

from pathlib import Path

import pytest

from bench.startup import HEAVY, size_of, start, start_function
from infra.bundling import CORE, ROOT, Code
from sluice.settings import FUNCTION_VARIABLES

NOWHERE = Path("nowhere")
"""Packages are those of this environment."""
CODE = Code(
    functions={step: ROOT / "functions" / step for step in FUNCTION_VARIABLES},
    core=CORE,
    dependencies=NOWHERE,
    parquet=NOWHERE,
)
POWERTOOLS, PSYCOPG, PYDANTIC = "aws_lambda_powertools", "psycopg", "pydantic"
READS_ROWS = {POWERTOOLS, PSYCOPG}
READS_REQUESTS = {*READS_ROWS, PYDANTIC, "phonenumbers"}
AT_IMPORT = {
    "approve": READS_REQUESTS,
    "campaign": READS_REQUESTS,
    "command": READS_REQUESTS,
    "dispatch": READS_ROWS,
    "erase": READS_REQUESTS,
    "export": {*READS_REQUESTS, "duckdb"},
    "migrate": {PSYCOPG},
    "reconcile": {*READS_ROWS, "phonenumbers"},
    "redrive": {POWERTOOLS},
    "report": {PSYCOPG, PYDANTIC},
    "restore": READS_ROWS,
    "schedule": READS_REQUESTS,
    "send": {*READS_REQUESTS, "requests"},
    "signal": READS_ROWS,
    "status": READS_ROWS,
    "webhook": {POWERTOOLS},
}
BY_THE_FIRST_EVENT = {"migrate": set(), "redrive": set(), "campaign": {"boto3", "requests"}}
"""Beside those; most load boto3 and what it needs. ``redrive`` asks AWS before it makes a port."""


@pytest.fixture(scope="module", params=sorted(FUNCTION_VARIABLES))
def started(request):
    return request.param, start_function(request.param, CODE)


def test_the_import_loads_these_heavy_modules_and_no_others(started):
    step, found = started

    assert set(found.loaded) == AT_IMPORT[step]


def test_the_first_event_adds_what_only_it_needs(started):
    step, found = started

    added = set(found.loaded_when_ready) - set(found.loaded)
    assert added == BY_THE_FIRST_EVENT.get(step, {"boto3"})


def test_a_start_is_measured_by_the_processor_and_by_the_clock():
    found = start([], ["decimal"])

    assert 0 < found.import_cpu <= found.ready_cpu
    assert found.import_wall > 0
    assert found.loaded == ()
    assert start([], ["psycopg"]).loaded == ("psycopg",)
    assert "psycopg" in HEAVY


def test_a_module_that_is_missing_is_told():
    with pytest.raises(AssertionError, match="no_such_module"):
        start([], ["no_such_module"])


def test_a_folder_is_weighed_with_its_zip(tmp_path):
    (tmp_path / "text").write_bytes(b"a" * 100_000)

    size = size_of(tmp_path)

    assert size.unzipped_bytes == 100_000
    assert 100 < size.zipped_bytes < 2_000
    assert (size + size).unzipped_bytes == 200_000

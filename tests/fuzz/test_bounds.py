"""What is largest and deepest: time and memory stay within what the function has."""

import json
import subprocess
import sys
import time

import pytest

from sluice.domain.addresses import parse_address
from sluice.domain.templates import columns_of
from sluice.domain.texts import Text
from sluice.domain.webhook import verify_signature
from sluice.domain.words import BUILT_IN
from tests.fuzz.test_webhook import posted, receive

MEMORY_MEGABYTES = 400
"""Of the 512 that the function has."""
CPU_SECONDS = 8.0
"""On a machine that is shared by many; alone it takes a second."""


def test_the_largest_webhook_of_anything_is_taken_within_time_and_memory():
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.largest"], capture_output=True, text=True, check=True
    )

    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 7
    for one in told:
        assert one["code"] == 200
        assert 0 < one["queued"] < 60_000
        assert one["seconds"] < CPU_SECONDS, one
        assert one["megabytes"] < MEMORY_MEGABYTES, one


@pytest.mark.parametrize("levels", [80, 105, 500, 900, 950, 980, 990, 995, 1_000, 100_000])
def test_at_any_depth_a_webhook_is_taken_or_refused_and_never_raises(levels):
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        inner = opening * levels + "1" + closing * levels
        for body in (
            f'{{"entry":[{{"changes":[{{"field":"x","value":{{"deep":{inner}}}}}]}}]}}',
            f'{{"entry":{inner}}}',
        ):
            assert receive(posted(body.encode()))[0] == (200 if levels < 90 else 400)


LONG = 200_000


@pytest.mark.parametrize(
    "read",
    [
        lambda: parse_address("+" * LONG),
        lambda: parse_address(" " * LONG + "+4915155000001"),
        lambda: parse_address("(" * LONG),
        lambda: columns_of({"components": [{"text": "{{" * LONG}]}),
        lambda: columns_of({"components": [{"text": "{{ " + " " * LONG}]}),
        lambda: columns_of({"components": [{"text": "{" * LONG + "}" * LONG}]}),
        lambda: Text("body", (" " * LONG,), 1_024).flaw({}),
        lambda: BUILT_IN.request_of("stop " * LONG),
        lambda: BUILT_IN.request_of("\u0301" * LONG),
        lambda: BUILT_IN.request_of(" " * LONG + "stop"),
        lambda: verify_signature(b"{}", "sha256=" + "0" * LONG, ["s"]),
    ],
)
def test_a_long_text_is_read_in_linear_time(read):
    started = time.process_time()
    read()

    # A square of it would take minutes.
    assert time.process_time() - started < 2.0

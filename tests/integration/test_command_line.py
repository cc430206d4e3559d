"""``sluice`` as it is installed: the real console script."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("sluice")
NOWHERE = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "none",
}


def sluice(*arguments):
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [SCRIPT, *arguments], env=own | NOWHERE, capture_output=True, text=True, check=False
    )


def test_preflight_without_a_network_tells_every_check_and_fails():
    done = sluice("preflight", "--stage", "example", "--json")

    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr, told["ready"]) == (1, "", False)
    assert {"credentials", "concurrency", "SNS filter policies", "CDK bootstrap"} <= {
        check["name"] for check in told["checks"] if check["state"] == "fail"
    }


def test_a_stage_that_does_not_exist_is_told_with_those_that_do():
    done = sluice("preflight", "--stage", "nowhere")

    assert done.returncode == 2
    assert "no stage 'nowhere'" in done.stderr
    assert "example" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_same_in_json():
    done = sluice("preflight", "--stage", "nowhere", "--json")

    assert done.returncode == 2
    assert "no stage 'nowhere'" in json.loads(done.stdout)["error"]


def test_help_names_every_command():
    done = sluice("--help")

    assert done.returncode == 0
    assert "preflight" in done.stdout
    for command in ("cost", "rollback", "hold", "release", "drain"):
        assert command in done.stdout


def test_cost_needs_no_network_and_tells_machines_everything():
    done = sluice("cost", "--stage", "example", "--region", "us-east-1", "--json")

    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert told["usd_per_million"] > 0
    assert told["usd_of_a_month"] == round(
        told["usd_per_million"] + told["usd_per_month_without_messages"], 4
    )
    assert {item["name"] for item in told["per_million"]} >= {"HTTP API", "Lambda, send"}


def test_cost_tells_people_what_dominates():
    done = sluice("cost", "--stage", "example")

    assert done.returncode == 0
    assert "What dominates:" in done.stdout
    assert "example in eu-central-1" in done.stdout


def test_a_region_or_a_file_without_prices_is_told(tmp_path):
    for arguments in (("--region", "mars-north-1"), ("--prices", str(tmp_path / "none.yaml"))):
        done = sluice("cost", "--stage", "example", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["rollback"], ["hold"], ["release"], ["drain", "--number", "106540352242922"]]
)
def test_an_order_that_aws_does_not_hear_fails_with_its_reason(arguments):
    done = sluice(*arguments, "--stage", "example")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: Could not connect")

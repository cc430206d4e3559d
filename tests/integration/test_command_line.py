"""``sluice`` as it is installed: the real console script."""

import json
import os
import subprocess
import sys
from pathlib import Path

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

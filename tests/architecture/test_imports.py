"""Who may import whom is a contract."""

import subprocess
import sys
from pathlib import Path


def test_no_contract_is_broken(root):
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout

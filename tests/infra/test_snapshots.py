"""What a change does to resources and permissions is seen where it is reviewed."""

from difflib import unified_diff

import pytest

from tests.infra.example import Example
from tests.infra.snapshots import DIRECTORY, snapshots


@pytest.mark.parametrize("name", ["resources.txt", "permissions.txt"])
def test_a_snapshot_says_what_is_deployed(example: Example, name: str) -> None:
    reviewed = (DIRECTORY / name).read_text(encoding="utf-8").splitlines()
    deployed = snapshots(example.templates)[name].splitlines()
    difference = "\n".join(unified_diff(reviewed, deployed, "reviewed", "deployed", lineterm=""))
    assert not difference, f"{difference}\n\nIf it is meant: make snapshots"

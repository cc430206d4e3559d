"""No file names a place that only one machine, or only one network, has."""

import re
import subprocess

PLACES = re.compile(
    "|".join(
        # Written in two halves, so that this file names none of them either.
        [rf"(?<![\w.-])/{name}/" for name in ("work", "root", "home")]
        + [re.escape(first + second) for first, second in (
            ("pypi", ".org"), ("pythonhosted", ".org"), ("npmjs", ".org"), ("npmjs", ".com"),
            ("docker", ".io"), ("ghcr", ".io"), ("public.ecr", ".aws"), ("proxy.golang", ".org"),
        )]
    )
)  # fmt: skip


def text_files(root):
    """What git keeps or would keep, where it is text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        path = root / name
        if path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                yield name, content.decode("utf-8", "replace")


def test_no_file_names_a_place_of_one_machine(root):
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in text_files(root)
        for number, line in enumerate(text.splitlines(), start=1)
        if PLACES.search(line)
    ]

    assert found == []

"""What is installed, here and in Lambda, is named to the last digit, and is the same."""

import re

PIN = re.compile(r"[A-Za-z0-9._-]+(\[[a-z0-9,]+\])?==[0-9][A-Za-z0-9.]*")
SHIPPED = ("layers/dependencies/requirements.txt", "layers/parquet/requirements.txt")


def requirements(path):
    """The lines of a requirements file that say something."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def test_what_ships_is_pinned(root):
    for file in SHIPPED:
        shipped = requirements(root / file)
        assert shipped
        assert [line for line in shipped if not PIN.fullmatch(line)] == []


def test_what_is_needed_here_is_pinned_and_includes_what_ships(root):
    here = requirements(root / "requirements.txt")

    others = [line for line in here if line not in {f"-r {file}" for file in SHIPPED}]
    assert len(others) == len(here) - len(SHIPPED)
    assert [line for line in others if not PIN.fullmatch(line)] == []


def test_nothing_is_pinned_twice(root):
    every = [line for file in ("requirements.txt", *SHIPPED) for line in requirements(root / file)]

    names = [re.split(r"[\[=]", line)[0].lower() for line in every]
    assert sorted(names) == sorted(set(names))


def test_the_build_backend_is_pinned_as_it_is_here(root):
    (backend,) = re.findall(r'requires = \["(.*)"\]', (root / "pyproject.toml").read_text())

    assert backend in requirements(root / "requirements.txt")

"""What ships to Lambda: everything that comes along is known, and has a licence that is allowed."""

import re
from importlib.metadata import distribution

from packaging.requirements import Requirement

ALLOWED = re.compile(r"MIT|BSD|Apache|LGPL|MPL|PSF|Python Software Foundation", re.IGNORECASE)
"""LGPL: psycopg, used as the library that it is."""
BESIDES = {
    "annotated-types", "aws-lambda-powertools", "certifi", "charset-normalizer", "duckdb", "idna",
    "jmespath", "phonenumbers", "psycopg", "psycopg-binary", "pydantic", "pydantic-core",
    "requests", "typing-extensions", "typing-inspection", "tzdata", "urllib3",
}  # fmt: skip
"""All of it. A new name here is a decision."""


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def shipped(root):
    """The names of everything that the layers hold."""
    found, waiting = set(), []
    for layer in ("dependencies", "parquet"):
        text = (root / "layers" / layer / "requirements.txt").read_text(encoding="utf-8")
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        waiting += [Requirement(line) for line in lines if line]
    while waiting:
        wanted = waiting.pop()
        name = canonical(wanted.name)
        if name in found and not wanted.extras:
            continue
        found.add(name)
        for line in distribution(name).requires or ():
            inner = Requirement(line)
            extras = [*wanted.extras, ""]
            if inner.marker is None or any(inner.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(inner)
    return found


def licence_of(name):
    """What a distribution says of its licence, in any of the three ways."""
    told = distribution(name).metadata
    classifiers = [one for one in told.get_all("Classifier", []) if one.startswith("License")]
    return " ".join([told.get("License-Expression", ""), told.get("License") or "", *classifiers])


def test_nothing_ships_that_is_not_known(root):
    assert shipped(root) == BESIDES


def test_what_ships_has_a_licence_that_is_allowed(root):
    licences = {name: licence_of(name)[:200] for name in shipped(root)}

    assert {name: told for name, told in licences.items() if not ALLOWED.search(told)} == {}
    assert not [name for name, told in licences.items() if "AGPL" in told]

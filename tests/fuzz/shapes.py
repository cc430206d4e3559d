"""What is fed to everything that reads from outside: any JSON, and samples that were changed."""

import copy
import json
from typing import Any

from hypothesis import strategies as st

from tests.conftest import EVENTS

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
NASTY = st.sampled_from([
    "", " ", "\0", "\ud800", "\udfff", "\ufeff", "\r\n", "'; DROP TABLE campaign; --", "%s",
    "%(now)s", "{{name}}", "{{", "../../etc/passwd", "=1+1", "🎉" * 40, "x" * 9_000, "9" * 400,
    "nan", "é", "null",
])  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**400, 0, -1])
    | st.floats()
    | ANY_TEXT
    | NASTY
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT | NASTY, inner, max_size=4)
    ),
    max_leaves=10,
)


def paths_in(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inner = document.items() if isinstance(document, dict) else ()
    inner = enumerate(document) if isinstance(document, list) else inner
    return [path, *(one for key, value in inner for one in paths_in(value, (*path, key)))]


@st.composite
def changed(draw: st.DrawFn, samples: list[Any]) -> Any:
    """A sample in which up to three places are something else, are gone, or come twice."""
    document = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(paths_in(document)[1:] or [(None,)]))
        place = document
        for key in way:
            place = place[key]
        match draw(st.sampled_from(["other", "other", "gone", "twice", "strange"])):
            case "other" if last is not None:
                place[last] = draw(JSON)
            case "gone" if last is not None:
                del place[last]
            case "twice" if isinstance(place, list):
                place.append(copy.deepcopy(place[last]))
            case "strange" if isinstance(place, dict):
                place[draw(ANY_TEXT | NASTY)] = draw(JSON)
    return document


def bodies(*steps: str) -> list[Any]:
    """The bodies of the samples of these steps that are JSON."""
    found = []
    for step in steps:
        for path in sorted((EVENTS / step).glob("*.json")):
            event = json.loads(path.read_text(encoding="utf-8"))
            for body in [event.get("body"), *(one["body"] for one in event.get("Records", []))]:
                try:
                    found.append(json.loads(body or "-"))
                except ValueError:
                    continue
    return found

"""Writes the JSON schemas of ``docs/schemas`` from the models: ``python -m local.schemas``."""

import json
from pathlib import Path
from typing import Final

from sluice.domain.requests import schema_of

SCHEMAS: Final = Path(__file__).parent.parent / "docs" / "schemas"
KINDS: Final = (
    "campaign", "send", "command", "suppressions", "audience", "export", "schedule", "erase",
)  # fmt: skip


def schema_text(kind: str) -> str:
    """The schema of a kind as its file holds it."""
    return json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"


def schema_file(kind: str) -> Path:
    """Where the schema of a kind is kept."""
    return SCHEMAS / f"{kind}.json"


def main() -> None:
    """Write the schema of every kind."""
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        schema_file(kind).write_text(schema_text(kind), encoding="utf-8")
        print(schema_file(kind))


if __name__ == "__main__":
    main()

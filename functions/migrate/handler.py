"""Migrate: run at each deployment, before any function uses the schema."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.migrate import migrate


def handle(_event: Mapping[str, Any], *, database: Database) -> dict[str, Any]:
    """Apply what is missing and name it."""
    return {"applied": migrate(database)}


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("migrate")
    return handle(event, database=wiring.database())

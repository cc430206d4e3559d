"""The list of prices, as its user keeps it."""

from pathlib import Path

from sluice.domain.cost import Prices

FILE = Path(__file__).parents[1] / "prices.json"


def read_prices(file: Path = FILE) -> Prices:
    """Return the prices. Raises ValidationError with everything that is wrong in the file."""
    return Prices.model_validate_json(file.read_bytes())

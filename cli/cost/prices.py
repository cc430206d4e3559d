"""The file of prices: every price of every region in it, or what is wrong with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from cli.terminal import InputError
from infra.stage_parts import STRICT
from infra.yaml_file import YamlError, values_in

PRICES: Final = Path(__file__).with_name("prices.yaml")
Usd = Annotated[float, Field(ge=0)]


@checked_dataclass(frozen=True, kw_only=True, config=STRICT)
class Prices:
    """USD in one region; the names say for what, the file where they are from."""

    sns_publish_million: Usd
    sqs_standard_million: Usd
    sqs_fifo_million: Usd
    lambda_request_million: Usd
    lambda_gigabyte_second: Usd
    http_api_million: Usd
    aurora_capacity_hour: Usd
    aurora_io_million: Usd
    aurora_gigabyte_month: Usd
    nat_hour: Usd
    nat_gigabyte: Usd
    public_address_hour: Usd
    egress_gigabyte: Usd
    logs_gigabyte: Usd
    metric_month: Usd
    alarm_metric_month: Usd
    composite_alarm_month: Usd
    dashboard_month: Usd
    secret_month: Usd
    secret_call_million: Usd
    key_month: Usd


@dataclass(frozen=True)
class PriceList:
    """The prices of several regions."""

    as_of: str
    regions: Mapping[str, Prices]

    def of(self, region: str) -> Prices:
        """Those of one region. Raises ``InputError`` with those that there are."""
        prices = self.regions.get(region)
        if prices is None:
            known = ", ".join(sorted(self.regions))
            raise InputError(f"no prices of {region}; there are {known}: see --prices, --region")
        return prices


def read_prices(file: Path = PRICES) -> PriceList:
    """Read a file of prices. Raises ``InputError`` with everything that is wrong in it."""
    try:
        values = values_in(file)
        return prices_of(values)
    except (OSError, YamlError, InputError) as error:
        raise InputError(f"{file}: {error}") from None


def prices_of(values: Mapping[str, Any]) -> PriceList:
    """The prices that these values are. Raises ``InputError`` likewise."""
    try:
        # As JSON, because strictness takes no mapping for prices from Python.
        return TypeAdapter(PriceList).validate_json(json.dumps(values))
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise InputError("\n".join(problems)) from None

"""Costs by a list of prices."""

import json
from datetime import date
from decimal import Decimal

import pytest
from pydantic import ValidationError

from sluice.adapters.prices import FILE, read_prices
from sluice.domain.cost import Kind, Prices, cost_document, cost_of

BRAZIL = {"marketing": "0.0625", "utility": "0.0068"}


def prices(**changes):
    return Prices.model_validate(
        {
            "currency": "USD",
            "as_of": "2026-10-01",
            "source": "a rate card",
            "rates": {"55": BRAZIL},
            "default": {},
        }
        | changes
    )


def test_a_cost_is_exact_to_the_last_digit():
    counts = {Kind(55, "marketing"): 1_000_001, Kind(55, "utility"): 3}

    cost = cost_of(counts, prices())

    assert cost.amount == Decimal("62500.0829")
    assert (cost.currency, cost.priced, cost.known) == ("USD", 1_000_004, True)


@pytest.mark.parametrize(
    "kind", [Kind(49, "marketing"), Kind(55, "service"), Kind(None, "marketing")]
)
def test_an_unknown_price_is_counted_and_never_guessed(kind):
    cost = cost_of({kind: 7, Kind(55, "utility"): 1}, prices())

    assert (cost.amount, cost.priced, cost.known) == (Decimal("0.0068"), 1, False)
    assert cost.unpriced == {kind: 7}


def test_a_default_is_for_markets_that_the_list_does_not_have():
    listed = prices(default={"marketing": "0.1"})

    assert listed.rate(Kind(49, "marketing")) == Decimal("0.1")
    assert listed.rate(Kind(55, "service")) is None, "Brazil is in the list, without it"
    assert listed.rate(Kind(None, "marketing")) is None, "nobody knows the market of a BSUID"


def test_nothing_costs_nothing():
    assert cost_of({}, prices()).amount == 0
    assert cost_of({}, prices()).known


def test_a_cost_as_json_says_what_it_was_reckoned_by():
    cost = cost_of({Kind(55, "marketing"): 2, Kind(49, "marketing"): 1}, prices())

    document = cost_document(cost, prices())

    assert json.loads(json.dumps(document)) == {
        "amount": "0.1250",
        "currency": "USD",
        "known": False,
        "priced": 2,
        "unpriced": [{"country_code": 49, "category": "marketing", "messages": 1}],
        "prices_as_of": "2026-10-01",
        "prices_source": "a rate card",
    }


def test_the_list_that_ships_can_be_read_and_asks_to_be_edited():
    shipped = read_prices()

    assert shipped.rate(Kind(55, "marketing")) == Decimal("0.0625")
    assert (shipped.as_of, shipped.default) == (date(2026, 10, 1), {})
    assert "Edit this file" in shipped.source


def test_a_list_with_mistakes_names_them_all(tmp_path):
    document = json.loads(FILE.read_text(encoding="utf-8"))
    document |= {"currency": "dollars", "rates": {"+55": {"marketing": "-1", "promotion": "1"}}}
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(ValidationError) as caught:
        read_prices(file)

    assert {error["loc"][0] for error in caught.value.errors()} == {"currency", "rates"}
    assert len(caught.value.errors()) == 4

"""What webhooks tell of a price."""

import pytest

from sluice.domain.delivery import reduce_updates, update_of
from sluice.domain.pricing import CATEGORIES, Pricing, pricing_of


@pytest.mark.parametrize(
    ("told", "pricing"),
    [
        ({"category": "marketing", "type": "regular"}, Pricing("marketing", billable=True)),
        (
            {"category": "service", "type": "free_customer_service"},
            Pricing("service", billable=False),
        ),
        (
            {"category": "utility", "type": "free_entry_point", "billable": True},
            Pricing("utility", billable=False),
        ),
        ({"category": "utility", "billable": True}, Pricing("utility", billable=True)),
        (
            {"category": "authentication-international", "type": "regular"},
            Pricing("authentication_international", billable=True),
        ),
        ({"category": "group_marketing", "type": "regular"}, Pricing("other", billable=True)),
        ({"type": "regular"}, Pricing("other", billable=True)),
        ({"category": "marketing"}, None),
        ({"category": ["marketing"], "type": ["regular"]}, None),
        (None, None),
    ],
)
def test_the_type_decides_whether_a_message_is_charged(told, pricing):
    assert pricing_of(told) == pricing


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("billable", [True, False])
def test_a_code_is_small_and_gives_the_pricing_back(category, billable):
    pricing = Pricing(category, billable)

    assert Pricing.of(pricing.code) == pricing
    assert 0 <= pricing.code < 100


def test_the_stored_codes_never_change():
    assert Pricing("marketing", billable=True).code == 7
    assert Pricing("utility", billable=False).code == 10


def test_one_pricing_of_a_message_survives_a_batch():
    status = {"id": "wamid.A", "timestamp": "1772355600", "opaque": "1:1:1"}
    pricing = {"category": "utility", "type": "regular"}
    batch = [
        update_of({**status, "status": "sent", "pricing": pricing}),
        update_of({**status, "status": "delivered"}),
    ]

    (update,) = reduce_updates(batch)

    assert update.pricing == Pricing("utility", billable=True).code

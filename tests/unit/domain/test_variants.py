"""What details say of variants, from groups of deliveries."""

from sluice.domain.variants import variants_of
from tests.unit.domain.test_summary import group

GROUPS = [
    group(60, variant=1, status="read"),
    group(20, variant=1, status="delivered"),
    group(10, variant=1, status="sent"),
    group(4, variant=1, status="failed", error_code=131026),
    group(1, variant=1, state="failed", status="none", error_code=-3),
    group(5, variant=1, state="pending", status="none"),
    group(2, variant=2, state="unknown", status="none"),
    group(3, status="accepted"),
]


def test_each_variant_has_its_people_and_shares_of_them():
    a, b, others = variants_of(GROUPS, ["a", "b"])

    assert a == {
        "variant": "a",
        "recipients": 100,
        "sent": 90,
        "delivered": 80,
        "read": 60,
        "failed": 5,
        "errors": {"131026": 4, "-3": 1},
        "rates": {"sent": 0.9, "delivered": 0.8, "read": 0.6, "failed": 0.05},
    }
    assert (b["recipients"], b["sent"], b["rates"]["read"]) == (2, 0, 0.0)
    assert (others["variant"], others["recipients"], others["sent"]) == (None, 3, 3)


def test_a_variant_without_people_has_no_rates():
    (a,) = variants_of([], ["a"])

    assert a["rates"] == {"sent": None, "delivered": None, "read": None, "failed": None}


def test_a_campaign_without_variants_tells_none():
    assert variants_of(GROUPS[-1:], []) == []

"""The bill: computed by hand once, complete, and moved by what should move it."""

from dataclasses import fields, replace

import pytest

from cli.cost.assumed import RUNS_A_MONTH
from cli.cost.command import bill
from cli.cost.model import Choices, cost_of, metrics_of, seconds_per_message
from cli.cost.prices import PriceList, Prices, prices_of, read_prices
from cli.cost.profile import FunctionUse, Profile, read_profile
from cli.terminal import InputError
from infra.config import load_stage, stage_of
from sluice.settings import FUNCTION_VARIABLES

NUMBER = {
    "phone_number_id": "106540352242922",
    "account_id": "1",
    "portfolio_id": "1",
    "messages_per_second": 80,
    "bucket": 0,
}
FREE = Prices(**{field.name: 0.0 for field in fields(Prices)})
UNUSED = FunctionUse(
    basis="request",
    invocations_per_thousand=0.0,
    billed_milliseconds=0.0,
    billed_milliseconds_median=0.0,
    log_bytes=0,
)


def stage(**changes):
    return stage_of({
        "stage": "dev",
        "region": "us-east-1",
        "runtime": "python3.14",
        "cloud_api_url": "https://graph.facebook.com/v25.0",
        "database": {"url": "postgresql://nobody@127.0.0.1:1/none"},
        "numbers": [NUMBER],
        "pace_factor": 1.0,
        **changes,
    })  # fmt: skip


def use(**changes):
    return replace(UNUSED, **changes)


PROFILE = Profile(
    measured_on="paper",
    people=1_000,
    requests_per_message=1.0,
    webhooks_per_message=3.0,
    functions={
        **dict.fromkeys(FUNCTION_VARIABLES, UNUSED),
        "send": use(basis="pace", log_bytes=1_000),
        "webhook": use(
            basis="message",
            invocations_per_thousand=3_000.0,
            billed_milliseconds=20.0,
            log_bytes=500,
        ),
        "status": use(
            basis="message", invocations_per_thousand=500.0, billed_milliseconds=40.0, log_bytes=600
        ),
        "dispatch": use(basis="time", billed_milliseconds=100.0, log_bytes=400),
    },
)


AS_IT_IS = Choices()


def per_million(price, choices=AS_IT_IS, **changes):
    """USD for a million messages where only one thing costs anything, one USD."""
    prices = replace(FREE, **{price: 1.0})
    return cost_of(stage(**changes), prices, PROFILE, choices).per_million


@pytest.mark.parametrize(
    ("price", "usd"),
    [
        ("http_api_million", 3.0),
        # A publication for each chunk of 100.
        ("sns_publish_million", 0.01),
        # A send for each chunk, a receive and a delete for 20 seconds of a slot, which are 800.
        ("sqs_standard_million", 0.01 + 2 / 800),
        # A send for each webhook, a receive and a delete for each of 500 batches in a thousand.
        ("sqs_fifo_million", 3.0 + 1.0),
        ("lambda_request_million", 1 / 800 + 3.0 + 0.5),
        # 1 GB for 25 ms of a slot and to load, half a GB for 3 x 20 ms and for 0.5 x 40 ms.
        ("lambda_gigabyte_second", 25_000 / 0.98 + 17 + 30_000 + 10_000),
        # 1.25 bytes of the sender, 1,500 of the webhook, 300 of status.
        ("logs_gigabyte", 1.80125),
        ("egress_gigabyte", 2.0),
        ("aurora_io_million", 0.0),
        ("nat_gigabyte", 0.0),
    ],
)
def test_a_million_messages_cost_what_is_computed_by_hand(price, usd):
    assert per_million(price) == pytest.approx(usd)


def test_a_cluster_and_a_gateway_of_our_own_cost_too():
    ours = {"database": {"capacity_min": 0.5}}

    assert per_million("aurora_capacity_hour", **ours) == pytest.approx(1.5)
    assert per_million("aurora_io_million", **ours) == pytest.approx(1.0)
    assert per_million("nat_gigabyte", **ours) == pytest.approx(4.0)


def test_a_standard_queue_and_a_function_url_cost_less():
    standard, url = Choices(statuses_queue="standard"), Choices(webhook_entry="function_url")

    assert per_million("sqs_fifo_million", standard) == 0.0
    assert per_million("sqs_standard_million", standard) == pytest.approx(
        0.01 + 2 / 800 + 3.0 + 0.6
    )
    assert per_million("http_api_million", url) == 0.0


def test_a_faster_slot_takes_less_time_for_a_message():
    slow, fast = stage(), stage(numbers=[NUMBER | {"messages_per_second": 1_000}])

    assert seconds_per_message(slow) == pytest.approx(1 / 40)
    assert seconds_per_message(fast) == pytest.approx(1 / 100)
    changed = {"numbers": [NUMBER | {"messages_per_second": 1_000}]}
    assert per_million("lambda_gigabyte_second", **changed) == pytest.approx(
        10_000 / 0.98 + 17 + 40_000
    )


def test_of_two_numbers_each_sends_its_share():
    second = NUMBER | {"phone_number_id": "106540352242923", "messages_per_second": 1_000}
    both = stage(numbers=[NUMBER, second])

    assert seconds_per_message(both) == pytest.approx((2 + 10) / 1_080)


@pytest.mark.parametrize(
    ("price", "usd"),
    [
        ("aurora_capacity_hour", 0.5 * 2 * 730),
        ("nat_hour", 2 * 730),
        ("public_address_hour", 2 * 730),
        # 43,800 runs of 0.1 s with half a GB.
        ("lambda_gigabyte_second", 43_800 * 0.05),
        ("lambda_request_million", (3 * 43_800 + 730) / 1e6),
        ("logs_gigabyte", 43_800 * 400 / 1e9),
        # One queue, 15 times a minute.
        ("sqs_fifo_million", 0.657),
        ("sqs_standard_million", 9 * 0.657 + 8 * 0.0438),
    ],
)
def test_a_month_without_messages_costs_what_is_computed_by_hand(price, usd):
    database = {"capacity_min": 0.5, "readers": 1, "nat_gateways": 2}
    prices = replace(FREE, **{price: 1.0})

    cost = cost_of(stage(database=database), prices, PROFILE, Choices())

    assert cost.per_month == pytest.approx(usd)


def test_metrics_are_counted_by_every_value_of_their_dimensions():
    second = NUMBER | {"phone_number_id": "106540352242923"}
    one, two = metrics_of(stage()), metrics_of(stage(numbers=[NUMBER, second]))

    # docs/decisions/0027-alarms.md: 50 with one number, 8 for each other.
    assert (one, two) == (50, 58)


def test_what_costs_most_comes_first():
    cost = cost_of(load_stage("example"), read_prices().of("us-east-1"), PROFILE, Choices())

    for items in (cost.per_million_items, cost.per_month_items):
        assert [item.usd for item in items] == sorted((item.usd for item in items), reverse=True)


def test_the_committed_profile_has_every_function_and_measured_those_that_messages_need():
    profile = read_profile()

    assert set(profile.functions) == set(FUNCTION_VARIABLES)
    assert profile.functions["send"].basis == "pace"
    for step in ("webhook", "status"):
        used = profile.functions[step]
        assert used.basis == "message"
        assert min(used.invocations_per_thousand, used.billed_milliseconds, used.log_bytes) > 0
    for step in RUNS_A_MONTH:
        assert profile.functions[step].basis == "time"
    for step in ("dispatch", "reconcile", "redrive"):
        assert profile.functions[step].billed_milliseconds > 0
    assert 2 < profile.webhooks_per_message < 4
    assert 1 <= profile.requests_per_message < 1.1


def test_the_committed_prices_are_of_two_regions():
    prices = read_prices()

    assert set(prices.regions) == {"eu-central-1", "us-east-1"}
    with pytest.raises(InputError, match="no prices of mars; there are eu-central-1, us-east-1"):
        prices.of("mars")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "as_of"),
        ({"as_of": "today", "regions": {"x": {"nat_hour": 0.1}}}, "regions.x.alarm_metric_month"),
        ({"as_of": "today", "regions": {"x": {"nat_hour": -0.1}}}, "regions.x.nat_hour"),
        ({"as_of": "today", "regions": {"x": {"tea": 1.0}}}, "regions.x.tea"),
    ],
)
def test_prices_that_are_wrong_are_named(values, problem):
    with pytest.raises(InputError, match=problem):
        prices_of(values)


def test_a_file_of_prices_that_is_missing_or_broken_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml"):
        read_prices(tmp_path / "none.yaml")
    (tmp_path / "broken.yaml").write_text("- 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.yaml"):
        read_prices(tmp_path / "broken.yaml")


def test_the_bill_says_what_dominates_what_would_change_it_and_what_is_chosen():
    prices = PriceList("today", {"us-east-1": replace(FREE, http_api_million=1.0)})

    told = bill(stage(), region=None, messages=2_000_000, prices=prices, profile=PROFILE)

    text = "\n".join(told.lines())
    assert "100% of a million messages: HTTP API; to change: webhook_entry: function_url" in text
    assert "6.00 USD for a month with 2,000,000 messages" in text
    (chosen,) = (line for line in told.lines() if "as the stage is" in line)
    assert chosen.split()[:5] == ["3.00", "statuses_queue", "fifo,", "webhook_entry", "http_api"]
    assert len(told.as_json()["alternatives"]) == 4

"""Every code on its real roads: as an answer to a real sender, and in a signed webhook."""

from datetime import datetime

import pytest

from sluice.domain.clock import FOREVER
from sluice.domain.suppressions import match_key
from sluice.steps.status import StatusWriter
from tests.conftest import NOW, NUMBER, OTHER_NUMBER, SetClock
from tests.error_codes import CODES, ONCE_EACH, Code, Fails, Pauses, Waits
from tests.integration.http_servers import answer
from tests.integration.roads import accepted, send, tell

FOREIGN_NUMBER = "106540352242999"
"""Of another account."""
SLACK_SECONDS = 5.0
REACH = {
    "campaign": set(),
    "number": {NUMBER},
    "account": {NUMBER, OTHER_NUMBER},
    "app": {NUMBER, OTHER_NUMBER, FOREIGN_NUMBER},
}


@pytest.fixture
def accounts(world):
    """The world, with a number of another account."""
    world.database.fetch(
        "INSERT INTO number (phone_number_id, account_id, portfolio_id, send_rate, state)"
        " VALUES (%s, '2', '2', 76, 'active')",
        (FOREIGN_NUMBER,),
    )
    return world


def paused(world):
    """{number: (until, reason)} of those that are paused."""
    query = "SELECT phone_number_id, paused_until, pause_reason FROM number"
    rows = world.database.fetch(f"{query} WHERE paused_until > %s", (NOW,))
    return {number: (until, reason) for number, until, reason in rows}


def campaign_of(world, campaign_id):
    """(state, reason, paused_until) of a campaign."""
    query = "SELECT state, reason, paused_until FROM campaign WHERE campaign_id = %s"
    return world.database.fetch(query, (campaign_id,))[0]


def is_within(moment: datetime, bounds, slack=SLACK_SECONDS):
    least, most = bounds
    return least <= (moment - NOW).total_seconds() <= most + slack


def check_pauses(world, campaign_id, expected, code):
    """Exactly what is expected is paused, for as long as is expected, and says why."""
    pauses = paused(world)
    state, reason, until = campaign_of(world, campaign_id)
    if not isinstance(expected, Pauses):
        assert (pauses, state) == ({}, "running")
        return
    assert set(pauses) == REACH[expected.what]
    told = f"{code.code} {code.details}"
    if expected.what == "campaign":
        assert (state, reason) == ("paused", told)
        pauses = {"campaign": (until, reason)}
    else:
        assert state == "running"
    for ends_at, why in pauses.values():
        assert why == told
        if expected.seconds is None:
            assert ends_at == (None if expected.what == "campaign" else FOREVER)
        else:
            assert is_within(ends_at, expected.seconds)
    factors = dict(world.database.fetch("SELECT phone_number_id, rate_factor FROM number"))
    assert factors[NUMBER] == (0.5 if expected.slower else 1)


def check_suppressed(world, claimed_address, expected):
    suppressed = isinstance(expected, Fails) and expected.suppressed
    key = match_key(claimed_address)
    assert world.suppressions.suppressed([key], marketing=True) == ({key} if suppressed else set())


@pytest.mark.parametrize("code", ONCE_EACH, ids=str)
def test_an_answer_over_http_leaves_the_row_as_meta_documents(accounts, serve, code: Code):
    server = serve(lambda *_: answer(code.body(), code.http_status))
    campaign_id = accounts.campaign(1)

    sent = send(accounts, server.url, campaign_id)

    row, expected = accounts.row(campaign_id), code.answer
    assert len(server.requests) == 1
    assert sent.codes == {code.code: 1}
    assert row["error_code"] == code.code
    match expected:
        case Fails():
            assert (row["state"], row["attempt"], row["due_at"]) == ("failed", 1, None)
            assert sent.unrecognised == (set() if expected.recognised else {code.code})
        case Waits():
            assert (row["state"], row["attempt"]) == ("pending", 1)
            assert is_within(row["due_at"], expected.seconds[0])
        case Pauses():
            assert (row["state"], row["attempt"]) == ("pending", 0)
            assert is_within(row["due_at"], (0.0, 0.0))
    assert row["status"] == "none"
    check_pauses(accounts, campaign_id, expected, code)
    check_suppressed(accounts, "+4915155000001", expected)
    assert accounts.counters_equal_rows()


@pytest.mark.parametrize("code", ONCE_EACH, ids=str)
def test_a_signed_webhook_leaves_the_row_as_meta_documents(accounts, code: Code):
    campaign_id, claimed = accounts.sending(1)
    accepted(accounts, claimed)

    written = tell(accounts, campaign_id, code.error())

    row, expected = accounts.row(campaign_id), code.by_webhook
    assert (row["status"], row["attempt"], row["error_code"]) == ("failed", 1, code.code)
    match expected:
        case Fails():
            assert (row["state"], row["due_at"]) == ("done", None)
            assert written.unrecognised == (set() if expected.recognised else {code.code})
        case Waits():
            assert row["state"] == "pending"
            assert is_within(row["due_at"], expected.seconds[0])
        case Pauses():
            assert row["state"] == "pending"
            assert is_within(row["due_at"], (0.0, 5.0))
    details = accounts.database.fetch("SELECT code, details FROM delivery_error")
    assert details == [(code.code, code.details)]
    check_pauses(accounts, campaign_id, expected, code)
    check_suppressed(accounts, claimed[0].address, expected)
    assert accounts.counters_equal_rows()


@pytest.mark.parametrize(
    "code", [one for one in CODES if isinstance(one.by_webhook, Waits)], ids=str
)
def test_what_failed_once_too_often_by_webhook_is_not_tried_again(accounts, code: Code):
    campaign_id, claimed = accounts.sending(1)
    accepted(accounts, claimed)
    tries = code.by_webhook.tries_max or 4
    accounts.database.fetch("UPDATE delivery SET attempt = %s", (tries + 1,))

    error = code.error()
    status = {
        "id": "wamid.1",
        "status": "failed",
        "timestamp": str(int(NOW.timestamp())),
        "opaque": f"{campaign_id}:1:{tries + 1}",
        "errors": [{"code": code.code, "details": error["message"]}],
    }
    StatusWriter(
        statuses=accounts.statuses, stops=accounts.stops, clock=SetClock(), dice=lambda: 0.5
    ).write([status])

    row = accounts.row(campaign_id)
    assert (row["state"], row["status"], row["due_at"]) == ("done", "failed", None)

"""What is left of a number that is to be removed, told by the real report and real queues."""

import io
import json
from types import SimpleNamespace

import pytest

from cli.drain import remaining
from functions.report.handler import handle
from sluice.adapters.prices import read_prices
from tests.conftest import NOW, NUMBER, OTHER_NUMBER


@pytest.fixture
def left(world, aws, clock):
    """What is left of a number, by ``sluice drain``."""

    def invoke(*, FunctionName, Payload):  # noqa: N803 - AWS names them
        assert FunctionName == "sluice-test-report:live"
        answer = handle(
            json.loads(Payload),
            reports=world.reports,
            resends=world.resends,
            messages=aws.parked_messages(),
            prices=read_prices,
            clock=clock,
        )
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def client(service):
        return SimpleNamespace(invoke=invoke) if service == "lambda" else aws.client(service)

    return lambda number=NUMBER: remaining("test", number, client=client)


def test_a_number_is_not_empty_before_its_rows_are_sent_and_its_queues_are(world, aws, left):
    campaign_id = world.campaign(4, fixed=NUMBER)
    world.queue(campaign_id, 2)
    url = aws.url(f"sluice-test-send-{NUMBER}-bulk-dead")
    aws.sqs.send_message(QueueUrl=url, MessageBody="{}")

    assert left().reasons == [
        "it is active: set its state to draining, and deploy",
        "4 deliveries wait for it: see them sent, or cancel them",
        f"1 messages in send-{NUMBER}-bulk-dead",
    ]
    assert left(OTHER_NUMBER).unsent == 0


def test_a_number_that_drained_may_go(world, aws, left):
    campaign_id = world.campaign(2, fixed=NUMBER)
    world.configure(state="draining")
    assert left().reasons == ["2 deliveries wait for it: see them sent, or cancel them"]
    world.orders.command_campaign("reminder", state="cancelled", reason=None)
    (campaign,) = world.reconciliations.open_campaigns(now=NOW)
    world.reconciliations.close_waiting(campaign, state="cancelled", limit=10)

    assert left().state == "draining"
    assert left().reasons == []
    assert campaign.campaign_id == campaign_id

"""One message to a phone of one's own, followed until it is there."""

from cli.verify import Sample, Seen, verify
from local.cloud_api import ledger
from local.system import System
from tests.end_to_end.conftest import FIRST

TO = "+4915155999001"


def seen(system: System, number: str, *, seconds_max: float) -> list[Seen]:
    sample = Sample(number, TO, "hello_world", "en_US")
    return list(verify("local", sample, client=system.aws.client, seconds_max=seconds_max))


def test_a_message_to_ones_own_phone_is_followed_until_it_is_there(system: System) -> None:
    told = seen(system, FIRST, seconds_max=120.0)

    assert told[0] == Seen()
    assert told[-1].arrived
    assert told[-1].advice is None
    requests = [one for one in ledger.requests(system.api.ledger) if one.recipient == TO]
    assert len(requests) == 1


def test_by_a_number_that_nobody_deployed_nothing_is_sent(system: System) -> None:
    before = system.waiting("unrouted")

    told = seen(system, "999999999999999", seconds_max=3.0)

    assert told == [Seen(number_known=False)]
    assert "nothing was sent" in str(told[-1].advice)
    assert system.waiting("unrouted") == before

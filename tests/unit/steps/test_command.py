"""Command: what an order comes to."""

import pytest

from sluice.domain.audit import ENGINE
from sluice.domain.carried import Again, Done, Refused
from sluice.domain.clock import FOREVER
from sluice.domain.models.command import COMMAND
from sluice.steps.command.steer import steer


class Orders:
    """Knows one campaign and one number."""

    def __init__(self):
        self.done = []

    def command_campaign(self, campaign, *, state, reason, origin):
        self.done.append((campaign, state, reason))
        return state if campaign == "known" else None

    def pause_number(self, phone_number_id, *, until, reason, origin):
        self.done.append((phone_number_id, until, reason))
        return phone_number_id == "1"

    def resume_number(self, phone_number_id, *, reason, origin):
        self.done.append((phone_number_id, None, None))
        return phone_number_id == "1"

    def prioritise(self, campaign, *, priority, reason, origin):
        self.done.append((campaign, priority, None))
        return campaign == "known"


def carried(receives=1, orders=None, **request):
    return steer(
        COMMAND.validate_python(request),
        receives=receives,
        origin=ENGINE,
        orders=orders or Orders(),
    )


@pytest.mark.parametrize(
    ("action", "state", "wake"),
    [("pause", "paused", False), ("resume", "running", True), ("cancel", "cancelled", False)],
)
def test_a_campaign_gets_the_state_of_its_command(action, state, wake):
    orders = Orders()

    done = carried(orders=orders, action=action, campaign="known", reason="why")

    assert orders.done == [("known", state, "why")]
    assert done == Done({"command": action, "state": state}, wake=wake)


def test_a_number_that_a_person_pauses_is_paused_until_a_person_resumes_it():
    orders = Orders()

    assert isinstance(carried(orders=orders, action="pause", phone_number_id="1"), Done)
    assert carried(orders=orders, action="resume", phone_number_id="1").wake

    assert orders.done == [("1", FOREVER, "a command"), ("1", None, None)]


@pytest.mark.parametrize("subject", [{"campaign": "unknown"}, {"phone_number_id": "2"}])
@pytest.mark.parametrize(("receives", "kind"), [(1, Again), (4, Again), (5, Refused), (9, Refused)])
def test_a_command_waits_a_minute_for_what_it_is_about(subject, receives, kind):
    assert isinstance(carried(receives, action="pause", **subject), kind)


def test_a_refusal_names_what_is_not_there():
    assert carried(5, action="pause", phone_number_id="2").reasons == ["there is no number 2"]


def test_a_campaign_gets_another_priority_and_dispatch_looks_at_once():
    orders = Orders()

    done = carried(orders=orders, action="prioritise", campaign="known", priority="deferrable")

    assert orders.done == [("known", "deferrable", None)]
    assert done == Done({"command": "prioritise", "priority": "deferrable"}, wake=True)

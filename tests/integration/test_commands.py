"""Orders to a deployed stage through the command: what they did, and how they end."""

import json

import pytest
from typer.testing import CliRunner

import cli.application
from cli.application import app
from cli.drain import Remaining
from cli.hold import Switched
from cli.rollback import NotRolledBack, RolledBack

NUMBER = "106540352242922"


def run(*arguments):
    return CliRunner().invoke(app, [*arguments, "--stage", "example"])


@pytest.fixture
def comes_to(monkeypatch):
    """Makes an order come to something; the orders themselves have tests of their own."""

    def make(order, done):
        monkeypatch.setattr(cli.application, order, lambda *_, **__: done)

    return make


def test_a_rollback_tells_each_function_and_fails_where_none_went_back(comes_to):
    stays = NotRolledBack("sluice-example-status", "version 1 is the first that is kept")
    comes_to("rollback", [RolledBack("sluice-example-send", 3, 2), stays])
    done = run("rollback")
    assert done.exit_code == 0
    assert "sluice-example-send: from version 3 to 2" in done.stdout
    assert "sluice-example-status: stays" in done.stdout

    comes_to("rollback", [stays])
    assert run("rollback", "--json").exit_code == 1


@pytest.mark.parametrize("order", ["hold", "release"])
def test_a_switch_tells_what_it_switched_and_fails_where_nothing_is_deployed(comes_to, order):
    comes_to(order, Switched(("sluice-example-status",), ("sluice-example-dispatch",)))
    done = run(order, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["event_sources"] == ["sluice-example-status"]

    comes_to(order, Switched((), ()))
    assert run(order).exit_code == 1


def test_a_number_may_go_when_nothing_is_left_of_it(comes_to):
    comes_to("remaining", Remaining(NUMBER, "draining", 0, {}))
    assert run("drain", "--number", NUMBER).exit_code == 0

    comes_to("remaining", Remaining(NUMBER, "active", 7, {"send": 2}))
    done = run("drain", "--number", NUMBER, "--json")
    assert done.exit_code == 1
    assert len(json.loads(done.stdout)["reasons"]) == 3

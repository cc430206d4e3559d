"""A rollback: what was deployed last goes back, once, and nothing else."""

from typing import Any

import pytest

from cli.rollback import NotRolledBack, RolledBack, rollback


class Functions:
    """Lambda's own words, for functions that are given as {name: {version: when it was made}}."""

    class exceptions:  # noqa: N801 - as boto3 has it
        """Those that boto3 makes of AWS's answers."""

        class ResourceNotFoundException(Exception):  # noqa: N818 - as boto3 has it
            """There is no such alias."""

    def __init__(self, made: dict[str, dict[int, str]]) -> None:
        self.made = made
        self.live = {name: max(versions) for name, versions in made.items() if versions}

    def get_paginator(self, operation: str) -> Any:
        return Pages(self, operation)

    def get_alias(self, *, FunctionName: str, Name: str) -> dict[str, str]:  # noqa: N803
        assert Name == "live"
        if FunctionName not in self.live:
            raise self.exceptions.ResourceNotFoundException
        return {"FunctionVersion": str(self.live[FunctionName])}

    def update_alias(self, *, FunctionName: str, Name: str, FunctionVersion: str) -> None:  # noqa: N803
        assert Name == "live"
        self.live[FunctionName] = int(FunctionVersion)


class Pages:
    """One page of each answer."""

    def __init__(self, functions: Functions, operation: str) -> None:
        self._functions, self._operation = functions, operation

    def paginate(self, **asked: str) -> list[dict[str, Any]]:
        if self._operation == "list_functions":
            return [{"Functions": [{"FunctionName": name} for name in self._functions.made]}]
        versions = self._functions.made[asked["FunctionName"]]
        latest = {"Version": "$LATEST", "LastModified": "2026-12-01T12:00:00.000+0000"}
        made = [
            {"Version": str(version), "LastModified": f"2026-{at}.000+0000"}
            for version, at in versions.items()
        ]
        return [{"Versions": [latest, *made]}]


@pytest.fixture
def functions() -> Functions:
    return Functions({
        "sluice-dev-send": {1: "11-01T09:00:00", 2: "11-20T09:00:00", 3: "12-01T09:10:00"},
        "sluice-dev-report": {1: "11-01T09:00:00", 2: "12-01T09:00:00"},
        "sluice-dev-erase": {1: "11-01T09:00:00", 2: "11-20T09:00:00"},
        "sluice-dev-migrate": {},
        "sluice-prod-send": {1: "11-01T09:00:00", 2: "12-01T09:00:00"},
    })  # fmt: skip


def test_only_what_was_deployed_last_goes_back(functions: Functions) -> None:
    done = rollback("dev", client=lambda _: functions)

    assert done == [
        NotRolledBack("sluice-dev-erase", "the latest deployment left version 2 as it was"),
        RolledBack("sluice-dev-report", 2, 1),
        RolledBack("sluice-dev-send", 3, 2),
    ]
    assert functions.live["sluice-prod-send"] == 2


def test_again_it_changes_nothing_unless_it_is_to_go_further(functions: Functions) -> None:
    rollback("dev", client=lambda _: functions)
    before = dict(functions.live)

    again = rollback("dev", client=lambda _: functions)
    assert functions.live == before
    assert not [one for one in again if isinstance(one, RolledBack)]

    further = rollback("dev", client=lambda _: functions, function="send", further=True)
    assert further == [RolledBack("sluice-dev-send", 2, 1)]


def test_a_rollback_that_died_in_the_middle_is_ended_by_the_next(functions: Functions) -> None:
    functions.live["sluice-dev-report"] = 1

    rollback("dev", client=lambda _: functions)

    assert (functions.live["sluice-dev-report"], functions.live["sluice-dev-send"]) == (1, 2)

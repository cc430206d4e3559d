"""Whether the buttons of a template message fit those of its template."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluice.domain.delivery import integer_of
from sluice.domain.problems import Problem


@dataclass(frozen=True, slots=True)
class Rule:
    """What a message says about one button of a template."""

    sub_type: str
    parameter: str
    """The type of its only parameter."""
    needed: bool


_URL: Final = Rule("url", "text", needed=True)
"""Of an address with a variable: what is put there."""
RULES: Final[Mapping[str, Rule | None]] = {
    "QUICK_REPLY": Rule("quick_reply", "payload", needed=False),
    "COPY_CODE": Rule("copy_code", "coupon_code", needed=True),
    "OTP": _URL,
    "FLOW": Rule("flow", "action", needed=False),
    "CATALOG": Rule("catalog", "action", needed=False),
    "MPM": Rule("mpm", "action", needed=True),
    "ORDER_DETAILS": Rule("order_details", "action", needed=True),
    "PHONE_NUMBER": None,
}
"""By Meta's name of the button; None: a message says nothing about it."""


def button_misfits(
    wanted: Sequence[Mapping[str, Any]], stored: Sequence[Mapping[str, Any]], path: str
) -> Iterator[Problem]:
    """The misfits of a message's button components, each of which names its button by ``index``."""
    given: dict[int, Mapping[str, Any]] = {}
    for component in wanted:
        index = integer_of(component.get("index"))
        if index is None or not 0 <= index < len(stored):
            places = f", from 0 to {len(stored) - 1}" if stored else ""
            yield Problem(path, f"the template has {len(stored)} buttons{places}")
        elif index in given:
            yield Problem(f"{path}.{index}", "comes twice")
        else:
            given[index] = component
    for index, button in enumerate(stored):
        yield from _misfits(given.get(index), button, f"{path}.{index}")


def _misfits(
    given: Mapping[str, Any] | None, button: Mapping[str, Any], path: str
) -> Iterator[Problem]:
    kind = str(button.get("type", "")).upper()
    if kind == "URL":
        rule: Rule | None = _URL if "{{" in str(button.get("url", "")) else None
    elif kind in RULES:
        rule = RULES[kind]
    else:
        return
    if rule is None:
        if given is not None:
            yield Problem(path, f"a button {kind} of this template takes no parameters")
        return
    if given is None:
        if rule.needed:
            yield Problem(path, f"the template needs {rule.sub_type} with a {rule.parameter}")
        return
    yield from _parameter_misfits(given, rule, path)


def _parameter_misfits(given: Mapping[str, Any], rule: Rule, path: str) -> Iterator[Problem]:
    sub_type = str(given.get("sub_type", "")).lower()
    if sub_type != rule.sub_type:
        yield Problem(path, f"sub_type is {rule.sub_type} in the template")
        return
    parameters = given.get("parameters")
    parameters = parameters if isinstance(parameters, list | tuple) else []
    if len(parameters) != 1 or not isinstance(parameters[0], Mapping):
        yield Problem(path, f"takes one parameter, a {rule.parameter}")
        return
    (parameter,) = parameters
    if parameter.get("type") != rule.parameter or not parameter.get(rule.parameter):
        yield Problem(path, f"takes one parameter, a {rule.parameter}")

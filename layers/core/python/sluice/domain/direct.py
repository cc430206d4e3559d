"""A direct send (kind=send): checked as a whole before any of it is stored."""

from dataclasses import dataclass
from typing import Any

from sluice.domain.addresses import parse_address
from sluice.domain.lanes import Lane
from sluice.domain.problems import Problem
from sluice.domain.requests import SendRequest
from sluice.domain.templates import render
from sluice.domain.texts import texts_of


@dataclass(frozen=True, slots=True)
class DirectSend:
    """What is stored of a direct send: (address, parameters) of each, and what they receive."""

    recipients: list[tuple[str, dict[str, str]]]
    message: dict[str, Any]
    """``{"template": …}`` or ``{"message": …}``."""


def direct_send(
    request: SendRequest, *, phone_number_id: str, lane: Lane
) -> DirectSend | list[Problem]:
    """Check every recipient: a message of a few people is sent whole or not at all."""
    if request.phone_number_id != phone_number_id:
        return [Problem("phone_number_id", "is not the number of this queue")]
    if request.lane != lane:
        return [Problem("lane", "is not the lane of this queue")]
    content = request.model_dump(mode="json", include={"template", "message"}, exclude_none=True)
    texts = texts_of(content.get("template", {}))
    recipients: list[tuple[str, dict[str, str]]] = []
    problems: list[Problem] = []
    for place, person in enumerate(request.recipients):
        path = f"recipients.{place}"
        address = parse_address(person.address)
        if isinstance(address, Problem):
            problems.append(Problem(f"{path}.address", address.message))
            continue
        rendered = render(content.get("template", {}), person.parameters)
        if isinstance(rendered, list):
            problems += [Problem(f"{path}.{problem.path}", problem.message) for problem in rendered]
            continue
        flaws = filter(None, (text.flaw(person.parameters) for text in texts))
        problems += [Problem(path, flaw) for flaw in flaws]
        recipients.append((address.value, dict(person.parameters)))
    return problems or DirectSend(recipients, content)

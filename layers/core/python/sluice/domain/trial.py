"""A test of a campaign: its template to a few people, as direct sends of its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sluice.domain.carried import Refused, refusal_of
from sluice.domain.direct import direct_send
from sluice.domain.media import with_media
from sluice.domain.models.command import Trial
from sluice.domain.models.common import Recipient, Template
from sluice.domain.models.send import SendRequest
from sluice.domain.problems import Problem

LANE: Final = "conversation"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a campaign sends, and by whom."""

    template: Mapping[str, Any]
    numbers: tuple[str, ...]
    media: frozenset[str]
    """URIs of the files of its template's header."""


def trial_id(test: str, phone_number_id: str) -> str:
    """The id of the direct send of one number: a test that is published twice is sent once."""
    return f"test:{test}:{phone_number_id}"


def sends_of(
    order: Trial, subject: Subject, media_ids: Mapping[str, Mapping[str, str]]
) -> list[SendRequest] | Refused:
    """The direct sends of a test, or everything that is wrong with it.

    ``media_ids`` are the uploads that may be sent: by number and URI.
    """
    numbers = order.numbers or subject.numbers
    strangers = sorted(set(numbers) - set(subject.numbers))
    without = [one for one in numbers if not subject.media <= media_ids.get(one, {}).keys()]
    problems = [Problem("numbers", f"{one} is none of the campaign's") for one in strangers]
    if without and not strangers:
        what = f"{', '.join(without)}: no media; publish the campaign again to upload them"
        problems.append(Problem("numbers", what))
    if problems:
        return refusal_of(problems)
    sends = [_send(order, number, subject, media_ids.get(number, {})) for number in numbers]
    checked = direct_send(sends[0], phone_number_id=numbers[0], lane=LANE)
    return refusal_of(checked) if isinstance(checked, list) else sends


def _send(order: Trial, number: str, subject: Subject, media_ids: Mapping[str, str]) -> SendRequest:
    template = with_media(subject.template, media_ids)
    return SendRequest(
        id=trial_id(order.id, number),
        phone_number_id=number,
        lane=LANE,
        recipients=tuple(
            Recipient(address=person.address, parameters=person.parameters)
            for person in order.recipients
        ),
        template=Template(
            name=template["name"],
            language=template["language"],
            components=tuple(template["components"]),
        ),
    )

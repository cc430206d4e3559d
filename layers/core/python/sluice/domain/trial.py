"""A test of a campaign: its template to a few people, as direct sends of its numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sluice.domain.carried import Refused, refusal_of
from sluice.domain.direct import direct_send
from sluice.domain.media import with_media
from sluice.domain.models.command import Trial
from sluice.domain.models.common import Recipient, Template
from sluice.domain.models.send import SendRequest
from sluice.domain.problems import Problem
from sluice.domain.split import total_of

LANE: Final = "conversation"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a campaign sends, and by whom."""

    template: Mapping[str, Any]
    numbers: tuple[str, ...]
    media: frozenset[str]
    """URIs of the files of its templates' headers."""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Templates of its variants, by name."""
    whole: bool = False
    """Everybody gets a variant: nobody gets the campaign's own template."""

    @property
    def messages(self) -> dict[str | None, Mapping[str, Any]]:
        """The templates that anybody may get, by variant; None: the campaign's own."""
        own: dict[str | None, Mapping[str, Any]] = {} if self.whole else {None: self.template}
        return own | dict(self.variants)


def subject_of(
    template: Mapping[str, Any],
    *,
    numbers: Iterable[str],
    media: Iterable[str],
    variants: Sequence[Mapping[str, Any]],
) -> Subject:
    """What a stored campaign sends; ``variants`` are those of its request, as JSON."""
    return Subject(
        template,
        tuple(numbers),
        frozenset(media),
        {one["name"]: one["template"] or template for one in variants},
        whole=total_of(one["share"] for one in variants) == 1,
    )


def trial_id(test: str, phone_number_id: str, variant: str | None) -> str:
    """The id of the direct send of one number: a test that is published twice is sent once."""
    return ":".join(filter(None, ("test", test, phone_number_id, variant)))


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
    if order.variant is not None and order.variant not in subject.messages:
        problems.append(Problem("variant", f"{order.variant} is none of the campaign's"))
    if problems:
        return refusal_of(problems)
    variants = list(subject.messages) if order.variant is None else [order.variant]
    sends = [
        _send(
            order, number, variant, with_media(subject.messages[variant], media_ids.get(number, {}))
        )
        for number in numbers
        for variant in variants
    ]
    for send in sends[: len(variants)]:
        checked = direct_send(send, phone_number_id=numbers[0], lane=LANE)
        if isinstance(checked, list):
            return refusal_of(checked)
    return sends


def _send(
    order: Trial, number: str, variant: str | None, template: Mapping[str, Any]
) -> SendRequest:
    return SendRequest(
        id=trial_id(order.id, number, variant),
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

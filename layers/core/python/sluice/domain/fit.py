"""Whether a template message fits the template that Meta has: every misfit, in words that help.

What Meta refuses for it comes with the codes 132000, 132001, 132012, 132015 and 132016 of each
message; here it is said once, before the first. What is not known of a component is let pass.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluice.domain.documents import mappings_in
from sluice.domain.fit_buttons import button_misfits
from sluice.domain.graph import StoredTemplate
from sluice.domain.problems import Problem
from sluice.domain.texts import texts_of

APPROVED: Final = "APPROVED"
MARKETING: Final = "MARKETING"
_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_MEDIA: Final = frozenset({"image", "video", "document"})
_TEXTS: Final = frozenset({"text", "currency", "date_time"})
"""Types of a parameter that fill a variable of a text."""
_PARTS: Final = frozenset({"header", "body", "button", "carousel", "limited_time_offer"})


def misfits(
    template: Mapping[str, Any], stored: Sequence[StoredTemplate], *, category: str
) -> list[Problem]:
    """What is wrong with sending ``template``; ``stored``: one account's templates of its name.

    ``category`` is the request's. ``marketing`` is right for any: it only leaves people out.
    """
    language = _language(template["language"])
    found = [one for one in stored if _language(one.language) == language]
    if not found:
        return [Problem("template", _absence(template, stored)), *literal_misfits(template)]
    one, wanted = found[0], mappings_in(template.get("components"))
    return [
        *_standing(one, category),
        *_component_misfits(wanted, one.components, one, "template"),
        *literal_misfits(template),
    ]


def literal_misfits(template: Mapping[str, Any]) -> list[Problem]:
    """What Meta would refuse in the texts that are the same for everybody."""
    flaws = (text.literal_flaw() for text in texts_of(template))
    return [Problem("template", flaw) for flaw in flaws if flaw is not None]


def _absence(template: Mapping[str, Any], stored: Sequence[StoredTemplate]) -> str:
    if not stored:
        return f"there is none of the name {template['name']}"
    languages = ", ".join(sorted({one.language for one in stored})[:10])
    return f"there is none in {template['language']}, only in {languages}"


def _standing(stored: StoredTemplate, category: str) -> Iterator[Problem]:
    if stored.status != APPROVED:
        yield Problem("template", f"is {stored.status or 'of no known status'}, not {APPROVED}")
    if stored.category and category.upper() not in (stored.category, MARKETING):
        yield Problem("category", f"is {category}, but the template's is {stored.category}")


def _component_misfits(
    wanted: Sequence[Mapping[str, Any]],
    stored: Sequence[Mapping[str, Any]],
    template: StoredTemplate,
    path: str,
) -> Iterator[Problem]:
    """The misfits of a message's components, or of a card's."""
    kept = {_type(component): component for component in stored}
    given: dict[str, Mapping[str, Any]] = {}
    for component in wanted:
        kind = _type(component)
        if kind not in _PARTS:
            yield Problem(path, f"a message has no component {kind or 'without a type'}")
        elif kind != "button" and kind in given:
            yield Problem(path, f"has two components {kind}")
        given.setdefault(kind, component)
    yield from _header_misfits(given.get("header"), kept.get("header"), template, path)
    yield from _Body(kept.get("body"), given.get("body"), template, f"{path}.body").misfits()
    yield from button_misfits(
        [component for component in wanted if _type(component) == "button"],
        mappings_in(kept.get("buttons", {}).get("buttons")),
        f"{path}.buttons",
    )
    yield from _offer_misfits(given.get("limited_time_offer"), kept.get("limited_time_offer"), path)
    yield from _card_misfits(given.get("carousel"), kept.get("carousel"), template, path)


def _header_misfits(
    given: Mapping[str, Any] | None,
    kept: Mapping[str, Any] | None,
    template: StoredTemplate,
    path: str,
) -> Iterator[Problem]:
    path = f"{path}.header"
    shape = str((kept or {}).get("format", "TEXT")).lower()
    if kept is None or shape == "text":
        yield from _Body(kept, given, template, path).misfits()
        return
    if shape == "gif":
        shape = "video"
    parameters = _parameters(given)
    if len(parameters) != 1 or parameters[0].get("type") != shape:
        yield Problem(path, f"the template takes one parameter of type {shape}")
        return
    content = parameters[0].get(shape)
    if shape in _MEDIA:
        sources = {"id", "link", "s3"} & (content.keys() if isinstance(content, Mapping) else set())
        if len(sources) != 1:
            yield Problem(path, f"the {shape} is named by one of s3, id and link")
    elif shape == "location" and not (
        isinstance(content, Mapping) and {"latitude", "longitude"} <= content.keys()
    ):
        yield Problem(path, "a location has a latitude and a longitude")


@dataclass(frozen=True, slots=True)
class _Body:
    """A text with variables, and the parameters that fill them."""

    kept: Mapping[str, Any] | None
    given: Mapping[str, Any] | None
    template: StoredTemplate
    path: str

    def misfits(self) -> Iterator[Problem]:
        variables = _variables(self.kept)
        parameters = _parameters(self.given)
        if self.given is not None and self.kept is None:
            yield Problem(self.path, "the template has none")
            return
        for parameter in parameters:
            if parameter.get("type") not in _TEXTS:
                yield Problem(self.path, "a parameter of it is a text, a currency or a date_time")
        if self._is_named(variables):
            yield from self._names(variables, parameters)
        elif any("parameter_name" in parameter for parameter in parameters):
            yield Problem(self.path, "the template's parameters have places, not names")
        elif len(parameters) != len(variables):
            yield Problem(
                self.path, f"the template takes {_count(len(variables))}, not {len(parameters)}"
            )

    def _is_named(self, variables: Sequence[str]) -> bool:
        told = self.template.parameter_format
        return told == "NAMED" or (not told and any(not one.isdigit() for one in variables))

    def _names(
        self, variables: Sequence[str], parameters: Sequence[Mapping[str, Any]]
    ) -> Iterator[Problem]:
        names = [str(parameter.get("parameter_name") or "") for parameter in parameters]
        missing, unknown = sorted(set(variables) - set(names)), sorted(set(names) - set(variables))
        if "" in names:
            yield Problem(self.path, "the template's parameters have names: parameter_name")
        if missing:
            yield Problem(self.path, f"no parameter is named {', '.join(missing)}")
        if any(unknown):
            strange, known = ", ".join(filter(None, unknown)), ", ".join(variables) or "none"
            yield Problem(self.path, f"{strange}: no name of the template, which has {known}")
        if len(set(names)) < len(names):
            yield Problem(self.path, "a parameter_name comes twice")


def _offer_misfits(
    given: Mapping[str, Any] | None, kept: Mapping[str, Any] | None, path: str
) -> Iterator[Problem]:
    path = f"{path}.limited_time_offer"
    if kept is None:
        if given is not None:
            yield Problem(path, "the template has none")
        return
    offer = kept.get("limited_time_offer")
    expires = isinstance(offer, Mapping) and offer.get("has_expiration") is True
    if expires and [one.get("type") for one in _parameters(given)] != ["limited_time_offer"]:
        yield Problem(path, "the template takes one parameter of type limited_time_offer")


def _card_misfits(
    given: Mapping[str, Any] | None,
    kept: Mapping[str, Any] | None,
    template: StoredTemplate,
    path: str,
) -> Iterator[Problem]:
    stored, wanted = mappings_in((kept or {}).get("cards")), mappings_in((given or {}).get("cards"))
    if kept is None:
        if given is not None:
            yield Problem(f"{path}.carousel", "the template has none")
        return
    if len(stored) != len(wanted):
        yield Problem(f"{path}.carousel", f"the template has {len(stored)} cards")
        return
    for place, (card, own) in enumerate(zip(wanted, stored, strict=True)):
        yield from _component_misfits(
            mappings_in(card.get("components")),
            mappings_in(own.get("components")),
            template,
            f"{path}.cards.{place}",
        )


def _variables(component: Mapping[str, Any] | None) -> list[str]:
    """The variables of a text of Meta's, each once, in their order."""
    text = (component or {}).get("text")
    return list(dict.fromkeys(_VARIABLE.findall(text))) if isinstance(text, str) else []


def _parameters(component: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return mappings_in((component or {}).get("parameters"))


def _type(component: Mapping[str, Any]) -> str:
    return str(component.get("type", "")).lower()


def _language(code: str) -> str:
    return code.replace("-", "_").lower()


def _count(parameters: int) -> str:
    return "one parameter" if parameters == 1 else f"{parameters or 'no'} parameters"

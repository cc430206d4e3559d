"""Texts of a template's parameters: what Meta would refuse in them, known before anything is sent.

Source: Meta, template messages, text parameters; a refusal comes with code 100, 132000 or 132018.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluice.domain.documents import mappings_in
from sluice.domain.templates import pieces_of

HEADER_CHARACTERS_MAX: Final = 60
BODY_CHARACTERS_MAX: Final = 1_024
"""Of one parameter, where the message has another component beside its body."""
BODY_ALONE_CHARACTERS_MAX: Final = 32_768
SPACES_MAX: Final = 4
"""In a row."""
_BREAKS: Final = ("\n", "\r", "\t", " " * (SPACES_MAX + 1))
_BROKEN: Final = "has a line break, a tab or more than four spaces in a row"


@dataclass(frozen=True, slots=True)
class Text:
    """The text of one parameter, between whose literal parts columns are filled in."""

    where: str
    """``header``, ``body``, ``button 0``, with the card before it where there are cards."""
    pieces: tuple[str, ...]
    """Literal, column, literal, …: an odd number."""
    characters_max: int | None

    @property
    def literal(self) -> bool:
        """Whether everybody gets the same."""
        return len(self.pieces) == 1

    def flaw(self, values: Mapping[str, str]) -> str | None:
        """What Meta would refuse in this person's text; it tells nothing of the text."""
        text = self._filled(values)
        if not text.strip():
            return f"the text of {self.where} is blank"
        if _is_broken(text):
            return f"the text of {self.where} {_BROKEN}"
        if self.characters_max is not None and len(text) > self.characters_max:
            return f"the text of {self.where} is longer than {self.characters_max} characters"
        return None

    def literal_flaw(self) -> str | None:
        """What Meta would refuse whoever the person is."""
        if self.literal:
            return self.flaw({})
        if any(_is_broken(piece) for piece in self.pieces[::2]):
            return f"the text of {self.where} {_BROKEN}"
        length = sum(map(len, self.pieces[::2]))
        if self.characters_max is not None and length >= self.characters_max:
            return f"the text of {self.where} is longer than {self.characters_max} characters"
        return None

    def _filled(self, values: Mapping[str, str]) -> str:
        pieces = self.pieces
        if len(pieces) == 3 and not pieces[0] and not pieces[2]:  # noqa: PLR2004 - the usual one
            return values[pieces[1]]
        return "".join(values[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def texts_of(template: Mapping[str, Any]) -> tuple[Text, ...]:
    """The texts of a template message as it was published, in their order."""
    components = mappings_in(template.get("components"))
    alone = all(_kind(component) == "body" for component in components)
    body_max = BODY_ALONE_CHARACTERS_MAX if alone else BODY_CHARACTERS_MAX
    return tuple(_texts(components, "", body_max))


def _texts(components: Sequence[Mapping[str, Any]], card: str, body_max: int) -> Iterator[Text]:
    for component in components:
        kind, where = _kind(component), card + _kind(component)
        characters_max = {"header": HEADER_CHARACTERS_MAX, "body": body_max}.get(kind)
        if kind == "button":
            where = f"{where} {component.get('index', 0)}"
        for parameter in mappings_in(component.get("parameters")):
            text = parameter.get("text")
            if isinstance(text, str) and parameter.get("type") == "text":
                yield Text(where, pieces_of(text), characters_max)
        for place, inner in enumerate(mappings_in(component.get("cards"))):
            yield from _texts(mappings_in(inner.get("components")), f"card {place} ", body_max)


def _kind(component: Mapping[str, Any]) -> str:
    return str(component.get("type", "")).lower()


def _is_broken(text: str) -> bool:
    return any(one in text for one in _BREAKS)

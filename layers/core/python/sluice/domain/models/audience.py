"""kind=audience: people who are kept under a name, to be sent to or left out later."""

from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Tag, TypeAdapter

from sluice.domain.models.common import BUILT_LATER, ClientId, Model, PeopleFile


class SaveAudience(PeopleFile):
    """Keep the people of a file, which is pinned as it is now."""

    kind: Literal["audience"] = "audience"
    """As the message attribute ``kind``."""
    action: Literal["save"] = "save"
    """May be left out."""
    id: ClientId
    """Your own id, for this content alone. Publishing the same again changes nothing."""


class DropAudience(Model):
    """Forget a saved audience; its id is not used again."""

    kind: Literal["audience"] = "audience"
    """As the message attribute ``kind``."""
    action: Literal["drop"]
    """What to do."""
    id: ClientId
    """The audience's id."""


def _action(audience: Any) -> str | None:
    action = audience.get("action", "save") if isinstance(audience, dict) else audience.action
    return action if isinstance(action, str) else None


AudienceRequest = SaveAudience | DropAudience
AUDIENCE: Final[TypeAdapter[AudienceRequest]] = TypeAdapter(
    Annotated[
        Annotated[SaveAudience, Tag("save")] | Annotated[DropAudience, Tag("drop")],
        Discriminator(_action),
    ],
    config=BUILT_LATER,
)
AUDIENCE_ACTIONS: Final = frozenset({"save", "drop"})

"""The request that a claimed delivery is."""

from collections.abc import Mapping
from typing import Any

from sluice.domain.addresses import parse_address
from sluice.domain.claim import Claimed
from sluice.domain.delivery import OpaqueId
from sluice.domain.outcomes import Failed
from sluice.domain.problems import Problem
from sluice.domain.results import UNRENDERABLE
from sluice.domain.templates import message_body, render


def body_of(claimed: Claimed, template: Mapping[str, Any] | None) -> dict[str, Any] | Failed:
    """Return the body of the request; ``template`` is the campaign's, filled in for the person."""
    address = parse_address(claimed.address)
    content = claimed.message or {"template": template}
    opaque_id = OpaqueId(*claimed.key, claimed.attempt)
    if isinstance(address, Problem):
        return Failed(UNRENDERABLE, str(address))
    if "message" in content:
        return message_body(address=address, opaque_id=opaque_id, message=content["message"])
    rendered = render(content["template"], claimed.parameters)
    if isinstance(rendered, list):
        return Failed(UNRENDERABLE, "; ".join(map(str, rendered)))
    return message_body(address=address, opaque_id=opaque_id, template=rendered)

"""Templates as Meta lists them, and messages that fit them."""

from sluice.domain.graph import StoredTemplate, template_of

REMINDER = {
    "name": "reminder",
    "language": "en_US",
    "status": "APPROVED",
    "category": "UTILITY",
    "parameter_format": "POSITIONAL",
    "quality_score": {"score": "GREEN"},
    "components": [{"type": "BODY", "text": "Dear {{1}}, see you on {{2}}."}],
}


def listed(*components, **changes):
    """A template of Meta's: a body of two variables, unless told otherwise."""
    more = {"components": list(components)} if components else {}
    return REMINDER | more | changes


def stored(*components, **changes) -> StoredTemplate:
    """The same as we keep it."""
    template = template_of(listed(*components, **changes))
    assert template is not None
    return template


def message(*components, **changes):
    """A template message."""
    return {"name": "reminder", "language": "en_US", "components": list(components), **changes}


def texts(*texts, **more):
    """Parameters of type text."""
    return [{"type": "text", "text": text, **more} for text in texts]


def body(*values):
    return {"type": "body", "parameters": texts(*values)}


def header(kind, content):
    return {"type": "header", "parameters": [{"type": kind, kind: content}]}


def button(index, sub_type, **parameter):
    return {
        "type": "button",
        "index": index,
        "sub_type": sub_type,
        "parameters": [parameter] if parameter else [],
    }

"""Templates as CloudFormation reads them: their resources, and what refers to what."""

from collections.abc import Iterator, Mapping
from typing import Any

Template = Mapping[str, Any]
Resource = Mapping[str, Any]


def of_type(template: Template, kind: str) -> Iterator[tuple[str, Resource]]:
    """The logical ids and properties of every resource of a type."""
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == kind:
            yield logical_id, resource.get("Properties", {})


def properties(template: Template, kind: str) -> Iterator[Resource]:
    """The properties of every resource of a type."""
    return (found for _, found in of_type(template, kind))


def logical_id_of(reference: Any) -> str | None:
    """What a ``Ref`` or ``Fn::GetAtt`` refers to; None: it is neither."""
    if not isinstance(reference, Mapping):
        return None
    if "Ref" in reference:
        return str(reference["Ref"])
    attribute = reference.get("Fn::GetAtt")
    return str(attribute[0]) if attribute else None


def referred(template: Template, reference: Any) -> Resource:
    """The properties of the resource that is referred to, which stands in the same template."""
    logical_id = logical_id_of(reference)
    assert logical_id is not None, f"{reference} refers to nothing"
    found: Resource = template["Resources"][logical_id]["Properties"]
    return found


def worker_of(template: Template, mapping: Resource) -> Resource:
    """The function of an event source: named itself, or in an expression by its alias."""
    names = [mapping["FunctionName"]]
    while logical_id_of(names[0]) is None:
        inner = names.pop(0)
        parts = inner.values() if isinstance(inner, Mapping) else inner
        names = [*(one for one in parts if isinstance(one, Mapping | list)), *names]
    found = referred(template, names[0])
    return referred(template, found["FunctionName"]) if "FunctionVersion" in found else found


def variables_of(function: Resource) -> Mapping[str, str]:
    """The environment of a function."""
    variables: Mapping[str, str] = function.get("Environment", {}).get("Variables", {})
    return variables

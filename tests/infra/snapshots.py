"""What is deployed, in words for a review: how many resources, and who may do what.

``make snapshots`` writes them anew.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.infra.example import synthesised

Template = Mapping[str, Any]

DIRECTORY: Final = Path(__file__).with_name("snapshots")
NAMES: Final = ("QueueName", "TopicName", "FunctionName")


def snapshots(templates: Mapping[str, Template]) -> dict[str, str]:
    """The text of each file."""
    return {
        "resources.txt": _sections(
            (name, list(_counts(template))) for name, template in templates.items()
        ),
        "permissions.txt": _sections(
            (f"{name} {role}", lines)
            for name, template in templates.items()
            for role, lines in _roles(template).items()
        ),
    }


def renew(templates: Mapping[str, Template]) -> None:
    """Write each file."""
    for name, text in snapshots(templates).items():
        (DIRECTORY / name).write_text(text, encoding="utf-8")


def _sections(sections: Iterable[tuple[str, list[str]]]) -> str:
    texts = ["\n  ".join([title, *lines]) + "\n" for title, lines in sections]
    return "\n".join(texts)


def _counts(template: Template) -> Iterator[str]:
    types = Counter(resource["Type"] for resource in template["Resources"].values())
    yield f"{sum(types.values())} resources"
    for kind, count in sorted(types.items()):
        yield f"{count:3} {kind}"


def _roles(template: Template) -> dict[str, list[str]]:
    """What each role may do, by the function that has it; other roles by their own name."""
    resources = template["Resources"]
    holders = {
        resource["Properties"]["Role"]["Fn::GetAtt"][0]: resource["Properties"].get(
            "FunctionName", name
        )
        for name, resource in resources.items()
        if resource["Type"] == "AWS::Lambda::Function"
    }
    found = {}
    for name, resource in resources.items():
        if resource["Type"] == "AWS::IAM::Role":
            lines = [
                f"has {_text(policy, resources).rpartition('/')[2]}"
                for policy in resource["Properties"].get("ManagedPolicyArns", [])
            ]
            found[name] = lines + sorted(set(_allowed(name, resources)))
    return {str(holders.get(name, name)): lines for name, lines in found.items()}


def _allowed(role: str, resources: Template) -> Iterator[str]:
    for document in _documents(role, resources):
        for statement in document["Statement"]:
            yield from _lines(statement, resources)


def _documents(role: str, resources: Template) -> Iterator[Mapping[str, Any]]:
    for policy in resources[role]["Properties"].get("Policies", []):
        yield policy["PolicyDocument"]
    for policy in resources.values():
        if policy["Type"] == "AWS::IAM::Policy" and {"Ref": role} in policy["Properties"]["Roles"]:
            yield policy["Properties"]["PolicyDocument"]


def _lines(statement: Mapping[str, Any], resources: Template) -> Iterator[str]:
    effect, condition = statement["Effect"].lower(), statement.get("Condition")
    suffix = f" if {condition}" if condition else ""
    for action in _listed(statement["Action"]):
        for resource in _listed(statement["Resource"]):
            yield f"{effect} {action} on {_text(resource, resources)}{suffix}"


def _text(value: Any, resources: Template) -> str:
    """A value as a reader knows it: by the name of a resource rather than by its logical id."""
    if isinstance(value, str):
        return value
    ((function, argument),) = value.items()
    if function == "Fn::Sub":
        return str(argument)
    if function == "Fn::Join":
        return str(argument[0]).join(_text(part, resources) for part in argument[1])
    if function == "Ref" and argument not in resources:
        return f"${{{argument}}}"
    named = argument if function == "Ref" else argument[0]
    properties = resources[named].get("Properties", {}) if named in resources else {}
    return next((name for name in map(properties.get, NAMES) if isinstance(name, str)), str(named))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def main() -> None:
    """Write the snapshots of the example stage."""
    with tempfile.TemporaryDirectory() as directory:
        renew(synthesised(Path(directory)).templates)


if __name__ == "__main__":
    main()

"""What the local AWS reads otherwise in a template, put so that both read the same."""

import json
from collections.abc import Mapping
from typing import Any

POLICIES = ("AWS::IAM::Policy", "AWS::IAM::Role")
SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a type


def corrected(template: bytes) -> bytes:
    """The template with policies that name a secret by ``Id``, its ARN, instead of by ``Ref``.

    AWS gives the ARN for both, ministack 1.5.33 the name for ``Ref``.
    """
    read = json.loads(template)
    resources = read["Resources"]
    secrets = {name for name, resource in resources.items() if resource["Type"] == SECRET}
    for resource in resources.values():
        if resource["Type"] in POLICIES:
            resource["Properties"] = _by_id(resource["Properties"], secrets)
    return json.dumps(read).encode()


def _by_id(value: Any, secrets: set[str]) -> Any:
    if isinstance(value, list):
        return [_by_id(one, secrets) for one in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"Ref"} and value["Ref"] in secrets:
        return {"Fn::GetAtt": [value["Ref"], "Id"]}
    return {name: _by_id(one, secrets) for name, one in value.items()}

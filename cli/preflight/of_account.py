"""What AWS's answers mean for a stage: pure, each fact to one check."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cli.preflight.account import Absent, Identity, Secret, Valueless
from cli.preflight.checks import Check, Unreadable, failed, passed, warned
from cli.preflight.needs import (
    UNRESERVED_CONCURRENCY_MIN,
    filter_policies,
    reserved_concurrency,
)
from infra.stage import Stage

BOOTSTRAP_VERSION_MIN: Final = 6
"""What our templates require: ``requiresBootstrapStackVersion`` in the CDK's manifest."""
TOPIC_POLICIES: Final = 200
ACCOUNT_POLICIES: Final = 10_000
"""By default, where Service Quotas does not tell. Source: AWS SNS, filter policy constraints."""
_ALLOW: Final = "Allow {action} to the role that you deploy with, and look at the network."


def identity_check(found: Identity | Unreadable) -> Check:
    """Whose credentials they are."""
    name = "credentials"
    if isinstance(found, Unreadable):
        return failed(name, found.reason, "Sign in: `aws sso login`, or AWS_PROFILE.")
    return passed(name, f"{found.arn} in account {found.account}")


def region_check(stage: Stage, region_of_caller: str | None) -> Check:
    """Whether the terminal's region is the stage's."""
    if region_of_caller in (None, stage.region):
        return passed("region", stage.region)
    return warned(
        "region",
        f"the stage is of {stage.region}, this terminal of {region_of_caller}",
        f"Set AWS_REGION={stage.region}, or other commands of yours will look elsewhere.",
    )


def concurrency_check(stage: Stage, quota: int | Unreadable) -> Check:
    """Whether all that is reserved can be, with what AWS leaves unreserved."""
    name, needed = "concurrency", reserved_concurrency(stage) + UNRESERVED_CONCURRENCY_MIN
    if isinstance(quota, Unreadable):
        return failed(name, quota.reason, _ALLOW.format(action="lambda:GetAccountSettings"))
    counted = f"the account may run {quota} executions, the stage needs {needed}"
    ask = (
        f"Ask AWS in Service Quotas for at least {needed} concurrent executions of Lambda "
        f"(L-B99A9384) in {stage.region}; new accounts begin with as few as 10."
    )
    if quota < needed:
        return failed(name, counted, ask)
    if quota < stage.account_concurrency:
        return failed(
            name,
            f"{counted}; account_concurrency says {stage.account_concurrency}",
            f"Set account_concurrency to {quota}, which is what is checked at each synthesis.",
        )
    return passed(name, counted)


def policies_check(stage: Stage, quotas: Mapping[str, float] | Unreadable) -> Check:
    """Whether the topic takes as many filter policies."""
    name, needed = "SNS filter policies", filter_policies(stage)
    if isinstance(quotas, Unreadable):
        return failed(name, quotas.reason, _ALLOW.format(action="servicequotas:ListServiceQuotas"))
    of_topic = _quota(quotas, "topic", TOPIC_POLICIES)
    of_account = _quota(quotas, "account", ACCOUNT_POLICIES)
    found = f"the stage needs {needed}; a topic may have {of_topic}, the account {of_account}"
    if needed > min(of_topic, of_account):
        return failed(name, found, "Ask AWS in Service Quotas for more, or split the stage.")
    return passed(name, found)


def _quota(quotas: Mapping[str, float], of: str, default: int) -> int:
    named = (
        value
        for name, value in quotas.items()
        if "filter polic" in name.lower() and of in name.lower()
    )
    return int(next(named, default))


def bootstrap_check(stage: Stage, version: int | Absent | Unreadable) -> Check:
    """Whether the CDK can deploy at all."""
    name = "CDK bootstrap"
    remedy = f"npx aws-cdk bootstrap aws://ACCOUNT/{stage.region}"
    if isinstance(version, Absent):
        return failed(name, f"{stage.region} is not bootstrapped", remedy)
    if isinstance(version, Unreadable):
        return failed(name, version.reason, _ALLOW.format(action="ssm:GetParameter"))
    if version < BOOTSTRAP_VERSION_MIN:
        return failed(name, f"version {version}, at least {BOOTSTRAP_VERSION_MIN}", remedy)
    return passed(name, f"version {version}")


def secret_check(
    name: str, found: Secret | Absent | Valueless | Unreadable, *, fields: Mapping[str, type]
) -> Check:
    """Whether a secret has a value of the right shape, which is never told."""
    label = f"secret {name}"
    shape = ", ".join(f'"{field}": …' for field in fields)
    put = f"aws secretsmanager put-secret-value --secret-id {name} --secret-string '{{{shape}}}'"
    if isinstance(found, Absent):
        later = "The first deployment makes it without a value. Put one then, and check again."
        return warned(label, "does not exist yet", later)
    if isinstance(found, Valueless):
        return failed(label, "has no value", put)
    if isinstance(found, Unreadable):
        allow = "secretsmanager:DescribeSecret and secretsmanager:GetSecretValue"
        return failed(label, found.reason, _ALLOW.format(action=allow))
    if found is None:
        return failed(label, "is not a JSON object", put)
    wrong = [field for field, kind in fields.items() if not _is(found.get(field), kind)]
    if wrong:
        return failed(label, f"{', '.join(wrong)}: missing, empty or of another type", put)
    return passed(label, f"has {', '.join(fields)}")


def _is(value: object, kind: type) -> bool:
    texts = value if isinstance(value, list) else [value]
    return isinstance(value, kind) and any(isinstance(one, str) and one.strip() for one in texts)


def certificates_check(bundle: Path, *, needed: bool) -> Check:
    """Whether functions can tell the database from an impostor."""
    name = "certificates of the database"
    if not needed:
        return passed(name, "not needed: the database is given by its address")
    try:
        count = bundle.read_text(encoding="utf-8").count("BEGIN CERTIFICATE")
    except (OSError, UnicodeDecodeError):
        count = 0
    if count == 0:
        return failed(
            name,
            f"{bundle.name} is missing or holds none, so no function would reach the database",
            "Fetch it: layers/core/certificates/README.md",
        )
    return passed(name, f"{count} in {bundle.name}")


def bytecode_check(runtime: str, compiler: str | None) -> Check:
    """Whether what ships can be compiled here."""
    if compiler is not None:
        return passed("bytecode", f"made by {compiler}")
    return warned(
        "bytecode",
        f"no {runtime} on this machine: functions ship as source and start half as fast",
        f"Deploy from a machine that has {runtime}, or set the stage's runtime to one that it has.",
    )

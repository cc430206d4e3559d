"""Gathers what preflight must know, and judges it; nothing is changed anywhere."""

import os
from collections.abc import Iterator, Mapping
from typing import Final

from cli.preflight import of_account, of_meta
from cli.preflight.account import Absent, Account, Secret, Valueless
from cli.preflight.checks import Check, Report, Unreadable, warned
from cli.preflight.meta import Meta
from infra.bundling import CORE, compiler_of
from infra.names import Names
from infra.stage import Stage
from infra.stage_parts import AuroraDatabase

TOKEN_VARIABLE: Final = "SLUICE_ACCESS_TOKEN"  # noqa: S105 - the name of a variable
"""For a first deployment, before there is a secret to put the token into."""
CERTIFICATES: Final = CORE / "certificates" / "rds-global-bundle.pem"
TOKEN_FIELDS: Final[Mapping[str, type]] = {"access_token": str}
WEBHOOK_FIELDS: Final[Mapping[str, type]] = {"app_secrets": list, "verify_token": str}


def preflight(stage: Stage) -> Report:
    """Every check of a stage, with the credentials of the caller."""
    account, names = Account(region=stage.region), Names(stage.stage)
    token = account.secret(names.token_secret)
    checks = [
        *_account_checks(stage, account),
        of_account.secret_check(names.token_secret, token, fields=TOKEN_FIELDS),
        of_account.secret_check(
            names.webhook_secret, account.secret(names.webhook_secret), fields=WEBHOOK_FIELDS
        ),
        *_machine_checks(stage),
        *_meta_checks(stage, _access_token(token)),
    ]
    return Report(stage.stage, checks)


def _account_checks(stage: Stage, account: Account) -> Iterator[Check]:
    yield of_account.identity_check(account.identity())
    yield of_account.region_check(stage, account.region_of_caller())
    yield of_account.bootstrap_check(stage, account.bootstrap_version())
    yield of_account.concurrency_check(stage, account.concurrent_executions())
    yield of_account.policies_check(stage, account.topic_quotas())


def _machine_checks(stage: Stage) -> Iterator[Check]:
    needed = isinstance(stage.database, AuroraDatabase)
    yield of_account.certificates_check(CERTIFICATES, needed=needed)
    yield of_account.bytecode_check(stage.runtime, compiler_of(stage.runtime))


def _meta_checks(stage: Stage, token: str | None) -> Iterator[Check]:
    if token is None:
        yield warned(
            "numbers",
            "not checked: there is no access token to ask Meta with",
            f"Put it into the secret, or into {TOKEN_VARIABLE} for this command.",
        )
        return
    meta = Meta(url=stage.cloud_api_url, token=token)
    account_ids = dict.fromkeys(number.account_id for number in stage.numbers)
    known = {account_id: meta.numbers(account_id) for account_id in account_ids}
    for number in stage.numbers:
        yield from of_meta.number_checks(stage, number, known[number.account_id], known)
    app = meta.app()
    for account_id in account_ids:
        yield of_meta.subscription_check(account_id, meta.subscribed_apps(account_id), app)


def _access_token(secret: Secret | Absent | Valueless | Unreadable) -> str | None:
    """The token of the secret, else that of the environment."""
    given = secret.get("access_token") if isinstance(secret, Mapping) else None
    token = given if isinstance(given, str) else os.environ.get(TOKEN_VARIABLE, "")
    return token.strip() or None

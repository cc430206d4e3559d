"""What preflight asks AWS. Nothing is changed, and no value of a secret is kept but the token."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from cli.preflight.checks import Unreadable

CALL_SECONDS_MAX: Final = 10
BOOTSTRAP_PARAMETER: Final = "/cdk-bootstrap/hnb659fds/version"
"""Of the CDK's default qualifier, which we do not change."""
_ABSENT: Final = frozenset({"ResourceNotFoundException", "ParameterNotFound"})


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose credentials these are."""

    account: str
    arn: str


@dataclass(frozen=True, slots=True)
class Absent:
    """It does not exist."""


@dataclass(frozen=True, slots=True)
class Valueless:
    """A secret that exists, and has no value yet."""


Secret = Mapping[str, Any] | None
"""The JSON object that a secret holds; None: it holds something else."""


class Account:
    """The AWS account of the caller's credentials, in one region."""

    def __init__(self, *, region: str) -> None:
        self._region = region

    def region_of_caller(self) -> str | None:
        """What the environment or the profile says, if anything."""
        region = self._asked(lambda: self._session.region_name)
        return None if isinstance(region, Unreadable) else region

    def identity(self) -> Identity | Unreadable:
        """Who asks. Source: AWS STS, GetCallerIdentity, which needs no permission."""
        answer = self._asked(lambda: self._client("sts").get_caller_identity())
        if isinstance(answer, Unreadable):
            return answer
        return Identity(answer["Account"], answer["Arn"])

    def concurrent_executions(self) -> int | Unreadable:
        """The quota of Lambda in this region. Source: AWS Lambda, GetAccountSettings."""
        answer = self._asked(lambda: self._client("lambda").get_account_settings())
        if isinstance(answer, Unreadable):
            return answer
        return int(answer["AccountLimit"]["ConcurrentExecutions"])

    def topic_quotas(self) -> Mapping[str, float] | Unreadable:
        """The quotas of SNS that this account has, by name. Source: Service Quotas."""

        def ask() -> dict[str, float]:
            pages = self._client("service-quotas").get_paginator("list_service_quotas")
            return {
                quota["QuotaName"]: quota["Value"]
                for page in pages.paginate(ServiceCode="sns")
                for quota in page["Quotas"]
            }

        quotas: dict[str, float] | Unreadable = self._asked(ask)
        return quotas

    def bootstrap_version(self) -> int | Absent | Unreadable:
        """The version of the CDK's bootstrap stack."""
        answer = self._asked(
            lambda: self._client("ssm").get_parameter(Name=BOOTSTRAP_PARAMETER), absent=Absent()
        )
        if isinstance(answer, Absent | Unreadable):
            return answer
        text = str(answer["Parameter"]["Value"])
        return int(text) if text.isdecimal() else Unreadable("its version is no number")

    def secret(self, name: str) -> Secret | Absent | Valueless | Unreadable:
        """What a secret holds."""
        told = self._asked(
            lambda: self._client("secretsmanager").describe_secret(SecretId=name), absent=Absent()
        )
        if isinstance(told, Absent | Unreadable):
            return told
        answer = self._asked(
            lambda: self._client("secretsmanager").get_secret_value(SecretId=name),
            absent=Valueless(),
        )
        if isinstance(answer, Valueless | Unreadable):
            return answer
        try:
            value = json.loads(answer.get("SecretString") or "")
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    @cached_property
    def _session(self) -> Any:
        """Opened when it is first used: a profile that is missing is a failed check."""
        return boto3.Session()

    def _client(self, service: str) -> Any:
        config = Config(
            connect_timeout=CALL_SECONDS_MAX,
            read_timeout=CALL_SECONDS_MAX,
            retries={"total_max_attempts": 2, "mode": "standard"},
        )
        return self._session.client(service, region_name=self._region, config=config)

    def _asked(self, ask: Callable[[], Any], *, absent: Any = None) -> Any:
        """The answer; ``absent`` where AWS says that there is none; or why there is no answer."""
        try:
            return ask()
        except ClientError as error:
            told = error.response.get("Error", {})
            if absent is not None and told.get("Code") in _ABSENT:
                return absent
            return Unreadable(f"{told.get('Code')}: {told.get('Message')}")
        except BotoCoreError as error:
            return Unreadable(f"{type(error).__name__}: {error}")

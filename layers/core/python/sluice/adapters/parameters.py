"""Secrets and configuration, cached for minutes and read again when they are refused."""

import json
import re
import time
from typing import Any, Final

from aws_lambda_powertools.utilities.parameters import SecretsProvider, SSMProvider

SECRET_SECONDS = 300
CONFIGURATION_SECONDS = 60
FRESH_SECONDS = 30.0
"""A secret is read anew at most so often, however many forged requests ask for it."""
_PLAIN: Final = re.compile(r"[!-~]+")


class SecretInvalidError(RuntimeError):
    """A secret lacks a field that we need; its name is told, never its content."""


class ConfigurationInvalidError(RuntimeError):
    """A parameter is not what we wrote."""


class Secrets:
    """JSON secrets of Secrets Manager.

    The client is given: Powertools would open a session of its own, and read again all that boto3
    reads about AWS, which takes longer than to ask for the secret.
    """

    def __init__(self, client: Any) -> None:
        self._provider = SecretsProvider(boto3_client=client)
        self._fetched_at: dict[str, float] = {}

    def access_token(self, secret_id: str, *, fresh: bool = False) -> str:
        """Return the Cloud API's token; read anew where Meta refused the cached one."""
        secret = self._secret(secret_id, fresh=fresh)
        return _plain(_field(secret, secret_id, "access_token"), secret_id, "access_token")

    def webhook(self, secret_id: str, *, fresh: bool = False) -> tuple[list[str], str]:
        """Return (app secrets, verify token); two app secrets are valid during a rotation."""
        secret = self._secret(secret_id, fresh=fresh)
        app_secrets = _field(secret, secret_id, "app_secrets")
        if not isinstance(app_secrets, list):
            raise SecretInvalidError(f"app_secrets of {secret_id} is not a list")
        verify_token = _field(secret, secret_id, "verify_token")
        return (
            [_plain(one, secret_id, "one of app_secrets") for one in app_secrets if one],
            _plain(verify_token, secret_id, "verify_token"),
        )

    def _secret(self, secret_id: str, *, fresh: bool) -> dict[str, Any]:
        now = time.monotonic()
        fetch = fresh and now - self._fetched_at.get(secret_id, -FRESH_SECONDS) >= FRESH_SECONDS
        if fetch:
            self._fetched_at[secret_id] = now
        secret = self._provider.get(
            secret_id, transform="json", max_age=SECRET_SECONDS, force_fetch=fetch
        )
        if not isinstance(secret, dict):
            raise SecretInvalidError(f"{secret_id} is not a JSON object")
        return secret


class Configuration:
    """JSON parameters of SSM under a path, by their last name."""

    def __init__(self, client: Any) -> None:
        self._provider = SSMProvider(boto3_client=client)

    def under(self, path: str) -> dict[str, dict[str, Any]]:
        """Return every parameter directly under ``path``."""
        found = self._provider.get_multiple(path, recursive=False, max_age=CONFIGURATION_SECONDS)
        return {name.rsplit("/", 1)[-1]: _object(name, str(found[name])) for name in sorted(found)}


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigurationInvalidError(f"{name} is not a JSON object")
    return value


def _field(secret: dict[str, Any], secret_id: str, name: str) -> Any:
    value = secret.get(name)
    if not value:
        raise SecretInvalidError(f"{secret_id} has no {name}")
    return value


def _plain(value: Any, secret_id: str, name: str) -> str:
    """Return a secret that may be a key or a header.

    A line end in it would be refused later, with words that repeat it; and ``true`` as text is a
    key that anybody guesses.
    """
    if not isinstance(value, str) or not _PLAIN.fullmatch(value):
        raise SecretInvalidError(f"{name} of {secret_id} is not ASCII text without spaces")
    return value

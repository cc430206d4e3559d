"""How to sign in: by the URL alone, or with an IAM token over TLS."""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

POSTGRES_PORT = 5432
CERTIFICATES = "/opt/certificates/rds-global-bundle.pem"
"""RDS signs with authorities of its own, whose bundle the core layer carries; without it libpq
refuses to connect. Source: AWS, using SSL/TLS to encrypt a connection to a DB cluster."""


def parameters_of(
    url: str, *, with_iam: bool, client: Callable[[str], Any]
) -> Callable[[], dict[str, Any]]:
    """Return what gives psycopg's connection parameters at each connect.

    With IAM the password is a token, signed without a network call and valid for 15 minutes.
    Source: AWS, IAM database authentication for Aurora.
    """
    parts = urlsplit(url)
    parameters: dict[str, Any] = {
        "host": parts.hostname,
        "port": parts.port or POSTGRES_PORT,
        "user": unquote(parts.username or ""),
        "dbname": parts.path.lstrip("/"),
    }
    if not with_iam:
        password = {"password": unquote(parts.password)} if parts.password else {}
        return lambda: {**parameters, **password}

    def signed() -> dict[str, Any]:
        token = client("rds").generate_db_auth_token(
            DBHostname=parameters["host"], Port=parameters["port"], DBUsername=parameters["user"]
        )
        return {
            **parameters,
            "password": token,
            "sslmode": "verify-full",
            "sslrootcert": CERTIFICATES,
        }

    return signed

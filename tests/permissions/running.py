"""The whole system with policies that are read."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from local.aws import ACCOUNT
from local.synthesis import ROOT
from local.system import System, running_system

AWS_ENVIRONMENT: Final = Path(os.environ.get("SLUICE_MINISTACK", ROOT / ".venv-ministack"))
SIMULATION: Final = {"latency_milliseconds_median": 20.0, "read_seconds_median": 0.5}

APPROVER: Final = "approver"
APPROVED_ABOVE_RECIPIENTS: Final = 500
STAGE: Final = {
    "approval_above_recipients": APPROVED_ABOVE_RECIPIENTS,
    "approvers": [f"arn:aws:iam::{ACCOUNT}:user/{APPROVER}"],
}


@contextmanager
def strict_system(aws_environment: Path = AWS_ENVIRONMENT) -> Iterator[System]:
    """Start it, yield it, and end it."""
    with tempfile.TemporaryDirectory(prefix="sluice-permissions-") as directory:
        Path(directory).chmod(0o755)
        with running_system(
            run_directory=Path(directory),
            aws_environment=aws_environment,
            simulation=SIMULATION,
            stage=STAGE,
            reads_policies=True,
        ) as running:
            yield running

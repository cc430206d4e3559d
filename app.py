"""The CDK application: ``infra/config/<stage>.yaml`` in, CloudFormation templates out.

With the CDK's command line::

    npx aws-cdk@2.1148.1 deploy --all --context stage=example

Without it, and without an AWS account, the same templates::

    SLUICE_STAGE=example CDK_OUTDIR=cdk.out python app.py

A stage's ``cloud_api_url`` and ``database`` may be given from outside, because the local run
chooses its ports when it starts: context ``cloud_api_url`` and ``database_url``, or else the
environment's ``SLUICE_CLOUD_API_URL`` and ``SLUICE_DATABASE_URL``. ``config_directory``
(``SLUICE_CONFIG_DIRECTORY``) is where to look for the stage, if not in ``infra/config``. Exit
status 1 and a list of reasons where the stage cannot work.
"""

import os
import sys
from pathlib import Path

from infra.node import provide_node

ROOT = Path(__file__).parent


def main() -> None:
    """Synthesise the stage that context or the environment names."""
    provide_node()
    # After Node is found: importing the CDK starts it.
    from infra.application import synthesise  # noqa: PLC0415
    from infra.config import ConfigError  # noqa: PLC0415
    from infra.validators import InvalidDeploymentError  # noqa: PLC0415

    try:
        synthesise(
            environment=os.environ,
            output_directory=os.environ.get("CDK_OUTDIR", str(ROOT / "cdk.out")),
        )
    except (ConfigError, InvalidDeploymentError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

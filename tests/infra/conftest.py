"""The CDK's Node is found before any test module imports the CDK: by `example`."""

import pytest

from tests.infra.example import Example, synthesised


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The example stage, synthesised once."""
    return synthesised(tmp_path_factory.mktemp("example"))

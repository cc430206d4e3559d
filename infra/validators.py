"""Everything that must hold before a stage is deployed, found in the templates themselves."""

from collections.abc import Iterable, Mapping

from infra.resources import Template
from infra.rules import stack_problems
from infra.stage import Stage
from infra.stage_checks import stage_problems
from infra.stage_rules import templates_problems


class InvalidDeploymentError(ValueError):
    """Templates that must not be deployed; the message lists every reason."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(["this stage must not be deployed:", *problems]))
        self.problems = problems


def validate(templates: Mapping[str, Template], *, stage: Stage, sizes: Iterable[str] = ()) -> None:
    """Raise ``InvalidDeploymentError`` unless everything holds in these templates of a stage.

    ``sizes`` is what is wrong with the code that they deploy.
    """
    problems = [*stage_problems(stage), *sizes]
    for name, template in templates.items():
        problems += [f"{name}: {problem}" for problem in stack_problems(template, stage=stage)]
    problems += templates_problems(list(templates.values()), stage=stage)
    if problems:
        raise InvalidDeploymentError(problems)

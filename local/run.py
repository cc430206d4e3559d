"""The main job: a scenario on the whole system, watched and then judged."""

from typing import Final

from rich.console import Console

from local.judge.books import gather
from local.judge.judgement import Judgement, judge
from local.scenarios.model import Scenario
from local.scenarios.play import Play
from local.scratch import Scratch, sweep
from local.synthesis import ROOT
from local.system import running_system
from local.view import live_view

AWS_ENVIRONMENT: Final = ROOT / ".venv-ministack"


def run(scenario: Scenario, console: Console) -> Judgement:
    """Start everything, play the story to its end and hold it to the ledger."""
    sweep()
    scratch = Scratch.make()
    try:
        with (
            console.status("starting") as status,
            running_system(
                run_directory=scratch.path,
                aws_environment=AWS_ENVIRONMENT,
                simulation=scenario.simulation,
                stage=scenario.stage,
                say=lambda what: status.update(f"starting {what}"),
            ) as system,
        ):
            status.stop()
            with live_view(system, console) as show:
                outcome = scenario.story(Play(system, show=show, seconds_max=scenario.seconds_max))
            campaigns = [one.campaign for one in outcome.campaigns]
            return judge(scenario.name, gather(system, campaigns), outcome)
    finally:
        scratch.remove()

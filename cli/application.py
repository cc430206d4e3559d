"""The commands, and how each ends: 0, 1 where something failed, 2 where it was told wrongly."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar

import boto3
import typer
from botocore.exceptions import BotoCoreError, ClientError

from cli.cost.command import bill
from cli.cost.prices import PRICES, read_prices
from cli.cost.profile import read_profile
from cli.drain import remaining
from cli.hold import Switched, hold, release
from cli.preflight.command import preflight
from cli.rollback import RolledBack, rollback
from cli.terminal import InputError, as_text
from cli.verify import Sample, Seen, verify
from infra.config import ConfigError, Stage, load_stage

Done = TypeVar("Done")

app = typer.Typer(
    name="sluice",
    help="Look after a stage of Sluice.",
    no_args_is_help=True,
    add_completion=False,
    # A traceback of rich shows local variables, secrets among them.
    pretty_exceptions_enable=False,
)

StageName = Annotated[str, typer.Option("--stage", help="A file of infra/config, by its name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for machines.")]


@app.callback()
def _sluice() -> None:
    """Keep the name of a command where there is only one."""


@app.command("preflight")
def _preflight(stage: StageName, *, as_json: AsJson = False) -> None:
    """Check the AWS account and the WhatsApp numbers of a stage before it is deployed."""
    report = preflight(_stage(stage, as_json=as_json))
    _print(report.as_json(), report.lines(), as_json=as_json)
    if report.failed:
        raise typer.Exit(1)


@app.command("cost")
def _cost(
    stage: StageName,
    *,
    region: Annotated[str | None, typer.Option(help="Another than the stage's.")] = None,
    messages: Annotated[int, typer.Option(min=0, help="Of a month.")] = 1_000_000,
    prices: Annotated[Path, typer.Option(help="A file of prices.")] = PRICES,
    as_json: AsJson = False,
) -> None:
    """Tell what a stage costs on AWS: a million messages by item, and a month without any."""
    try:
        told = bill(
            _stage(stage, as_json=as_json),
            region=region,
            messages=messages,
            prices=read_prices(prices),
            profile=read_profile(),
        )
    except InputError as error:
        raise _told_wrongly(error, as_json=as_json) from None
    _print(told.as_json(), told.lines(), as_json=as_json)


@app.command("rollback")
def _rollback(
    stage: StageName,
    *,
    function: Annotated[
        str | None, typer.Option(help="One function, or the beginning of some; else all.")
    ] = None,
    further: Annotated[
        bool, typer.Option("--further", help="Those too that were rolled back already.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let functions work as they did before their latest deployment."""
    done = _ordered(
        stage,
        lambda client: rollback(stage, client=client, function=function, further=further),
    )
    lines = [
        f"{one.function}: from version {one.was} to {one.now}"
        if isinstance(one, RolledBack)
        else f"{one.function}: stays, {one.reason}"
        for one in done
    ]
    document = {"stage": stage, "functions": [asdict(one) for one in done]}
    _print(document, lines or ["no such function has an alias"], as_json=as_json)
    if not any(isinstance(one, RolledBack) for one in done):
        raise typer.Exit(1)


@app.command("hold")
def _hold(stage: StageName, *, as_json: AsJson = False) -> None:
    """Let nothing work on a queue or wake by the clock, until the stage is released."""
    _switched(stage, _ordered(stage, lambda client: hold(stage, client=client)), as_json=as_json)


@app.command("release")
def _release(stage: StageName, *, as_json: AsJson = False) -> None:
    """Let a stage that was held work again."""
    done = _ordered(stage, lambda client: release(stage, client=client))
    _switched(stage, done, as_json=as_json)


@app.command("drain")
def _drain(
    stage: StageName,
    *,
    number: Annotated[str, typer.Option(help="Its phone_number_id.")],
    as_json: AsJson = False,
) -> None:
    """Say what is left of a number; 0 where it may be taken out of the configuration."""
    left = _ordered(stage, lambda client: remaining(stage, number, client=client))
    document = {**asdict(left), "reasons": left.reasons}
    _print(document, left.reasons or [f"nothing is left of {number}"], as_json=as_json)
    if left.reasons:
        raise typer.Exit(1)


@app.command("verify")
def _verify(
    stage: StageName,
    *,
    number: Annotated[str, typer.Option(help="Its phone_number_id.")],
    to: Annotated[str, typer.Option(help="A phone of your own, as +12025550101.")],
    template: Annotated[str, typer.Option(help="One without parameters.")] = "hello_world",
    language: Annotated[str, typer.Option(help="Of the template.")] = "en_US",
    seconds: Annotated[float, typer.Option(min=1, help="To wait at most.")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Send one message to a phone of your own, and follow it until the phone has it."""

    def followed(client: Callable[[str], Any]) -> Seen:
        seen = Seen()
        message = Sample(number, to, template, language)
        for seen in verify(stage, message, client=client, seconds_max=seconds):
            if not as_json:
                typer.echo(f"{seen.state or 'published'} {seen.status or ''}".strip())
        return seen

    last = _ordered(stage, followed)
    document = {"stage": stage, **asdict(last), "arrived": last.arrived, "advice": last.advice}
    _print(document, [last.advice or "the phone has it"], as_json=as_json)
    if not last.arrived:
        raise typer.Exit(1)


def _switched(stage: str, done: Switched, *, as_json: bool) -> None:
    found = (("event source", done.event_sources), ("clock", done.rules))
    lines = [f"{kind} of {function}" for kind, functions in found for function in functions]
    _print({"stage": stage, **asdict(done)}, lines or ["nothing is deployed"], as_json=as_json)
    if not lines:
        raise typer.Exit(1)


def _ordered(stage: str, order: Callable[[Callable[[str], Any]], Done]) -> Done:
    """What an order to AWS comes to; where AWS refuses or is away, the reason and 1."""
    try:
        session = boto3.Session(region_name=_stage(stage, as_json=False).region)
        return order(session.client)
    except (BotoCoreError, ClientError, RuntimeError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def _stage(name: str, *, as_json: bool) -> Stage:
    try:
        return load_stage(name)
    except ConfigError as error:
        raise _told_wrongly(error, as_json=as_json) from None


def _told_wrongly(error: Exception, *, as_json: bool) -> typer.Exit:
    if as_json:
        typer.echo(json.dumps({"error": str(error)}))
    else:
        typer.echo(f"error: {error}", err=True)
    return typer.Exit(2)


def _print(document: Mapping[str, Any], lines: list[str], *, as_json: bool) -> None:
    typer.echo(json.dumps(document, indent=2) if as_json else as_text(lines))

"""The commands, and how each ends: 0, 1 where something failed, 2 where it was told wrongly."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.cost.command import bill
from cli.cost.prices import PRICES, read_prices
from cli.cost.profile import read_profile
from cli.preflight.command import preflight
from cli.terminal import InputError, as_text
from infra.config import ConfigError, Stage, load_stage

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

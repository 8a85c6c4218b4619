"""The options that several verbs have."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
AsOf = Annotated[str | None, typer.Option(help="As it stood at a position or time.", metavar="POSITION|TIME")]
Url = Annotated[
    str | None,
    typer.Option(help="Go through the server at this address.", envvar="TALLYSTICK_URL", show_envvar=True),
]
BearerToken = Annotated[
    str | None, typer.Option(help="Token for --url.", envvar="TALLYSTICK_TOKEN", show_envvar=True, show_default=False)
]
Agent = Annotated[str | None, typer.Option(help="Only this agent's.")]
Category = Annotated[str | None, typer.Option(help="Only this category.")]
Stakes = Annotated[str | None, typer.Option(help="low, medium, high or critical.")]
Project = Annotated[str | None, typer.Option(help="Only this project.")]
Feature = Annotated[str | None, typer.Option(help="Only this feature.")]
Since = Annotated[str | None, typer.Option(help="Decided then or later.", metavar="TIME")]
Until = Annotated[str | None, typer.Option(help="Decided then or earlier.", metavar="TIME")]
Window = Annotated[str | None, typer.Option(help="30d, 60d, 90d or all, back from now; beats --since.")]


def ledger_of(context: typer.Context) -> Path:
    """The ledger file that --ledger names."""
    assert isinstance(context.obj, Path)
    return context.obj


def given(**parameters: str | None) -> dict[str, str]:
    """The parameters that were given, by the names that the HTTP door uses."""
    return {name: value for name, value in parameters.items() if value is not None}

"""Print the models that a discovery found, and the commands that register unknown ones."""

import typer
from msgspec import UNSET

from api.cli.output import make_table, open_console
from api.service.discovery.summary import DiscoverySummary
from api.text_format import one_line
from instruments.discovery import render_summary
from instruments.discovery.progress import format_ms, format_score


def print_findings(summary: DiscoverySummary, elapsed_ns: int) -> None:
    """Print the models that a run identified, and why it ended."""
    models = summary.models
    if summary.ending is not None:
        typer.echo(render_summary(len(models), summary.iterations, elapsed_ns))
    if models:
        probes = next((tuple(model.scores) for model in models if model.scores is not UNSET), ("score",))
        columns = ("model", "provider", *probes, "elapsed")
        table = make_table(
            *columns, right=(*probes, "elapsed"), wrap=("model", "provider"), drop=("elapsed", "provider")
        )
        for model in models:
            row = (
                one_line(model.model_name),
                one_line(model.provider),
                *map(format_score, (model.score,) if model.scores is UNSET else model.scores.values()),
                format_ms(model.elapsed_ns),
            )
            table.add_row(*row)
        typer.echo()
        open_console().print(table)
        for model in models:
            if model.detail is not UNSET:
                typer.echo(f"{one_line(model.model_name)}: {one_line(model.detail)}")
    typer.echo(f"\nThe report is kept: tallystick run show {summary.run_id}")
    commands = [model.register for model in models if model.register is not None]
    if commands:
        typer.echo("\nNot known yet:")
        for command in dict.fromkeys(commands):
            typer.echo(command)

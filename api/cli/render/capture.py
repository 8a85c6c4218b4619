"""Print firing alerts, and the files that a capture wrote."""

from collections.abc import Sequence
from shlex import quote

import msgspec
import typer
from rich.console import Console

from api.cli.output import make_table, open_console, print_json, print_note
from api.service.evaluation.capture import CaptureFolder, CaptureResult
from api.text_format import one_line, pluralize
from instruments.evals.capture.alertmanager import FiringAlert
from instruments.evals.scenario import UNEDITED


def print_alerts(alerts: Sequence[FiringAlert], name: str, *, as_json: bool) -> None:
    """Print the firing alerts with their numbers for --alert-index."""
    if as_json:
        print_json({"alerts": [{"index": index, **msgspec.to_builtins(alert)} for index, alert in enumerate(alerts)]})
    elif alerts:
        _print_table(open_console(), alerts)
    firing = "No alert is" if not alerts else f"{pluralize(len(alerts), 'alert')} {'is' if len(alerts) == 1 else 'are'}"
    print_note(f"{firing} firing at {name}; silenced and inhibited alerts are left out.")


def print_choice(alerts: Sequence[FiringAlert]) -> None:
    """Print the alerts to choose from on standard error, where the question follows."""
    _print_table(open_console(stderr=True), alerts)


def print_captured(result: CaptureResult, folder: CaptureFolder) -> None:
    """Print the captured scenario, its files, and the next steps."""
    outcome = {
        "captured": "recorded as a new scenario",
        "revised": "recorded as a revision",
        "unchanged": "the ledger has it already",
    }[result.recorded]
    root = folder.folder.parents[folder.title.count("/")]
    typer.echo(f"{result.scenario_id} is captured, and {outcome}.")
    for file in result.files:
        typer.echo(f"  {folder.folder / file}")
    typer.echo("Next:")
    typer.echo(f"  1. In scenario.yaml, replace every {UNEDITED} by what you expect; until then it cannot be loaded.")
    typer.echo("  2. In README.md, write what happened and what a good answer contains.")
    selection = " and ".join(folder.title.split("/"))
    typer.echo(f"  3. tallystick eval run {quote(str(root))} -k {quote(selection)}")


def _print_table(console: Console, alerts: Sequence[FiringAlert]) -> None:
    columns = ("", "alert", "namespace", "severity", "firing since", "fingerprint")
    table = make_table(
        *columns, right=("",), wrap=("alert", "namespace"), drop=("namespace", "firing since", "severity")
    )
    for index, alert in enumerate(alerts):
        table.add_row(
            str(index),
            one_line(alert.name),
            one_line(alert.labels.get("namespace")),
            one_line(alert.labels.get("severity")),
            one_line(alert.starts_at),
            one_line(alert.fingerprint),
        )
    console.print(table)

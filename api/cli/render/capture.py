"""Print firing alerts, and what a capture wrote."""

from collections.abc import Sequence
from shlex import quote

import msgspec
import typer
from rich.console import Console

from api.cli.output import make_table, open_console, print_json, print_note, truncate
from api.service.evaluation.capture import CaptureFolder, CaptureResult
from api.text import many, one_line
from instruments.evals.capture.alertmanager import FiringAlert
from instruments.evals.scenario import UNEDITED


def print_alerts(alerts: Sequence[FiringAlert], name: str, *, as_json: bool) -> None:
    """Print the firing alerts with their numbers for --alert-index."""
    if as_json:
        print_json({"alerts": [{"index": at, **msgspec.to_builtins(alert)} for at, alert in enumerate(alerts)]})
    elif alerts:
        _print_table(open_console(), alerts)
    firing = "No alert is" if not alerts else f"{many(len(alerts), 'alert')} {'is' if len(alerts) == 1 else 'are'}"
    print_note(f"{firing} firing at {name}; silenced and inhibited alerts are left out.")


def print_choice(alerts: Sequence[FiringAlert]) -> None:
    """Print the alerts to choose from on standard error, where the question follows."""
    _print_table(open_console(stderr=True), alerts)


def print_captured(done: CaptureResult, place: CaptureFolder) -> None:
    """Print what was captured, and the next steps."""
    event = {
        "captured": "recorded as a new scenario",
        "revised": "recorded as a revision",
        "unchanged": "the ledger has it already",
    }[done.recorded]
    root = place.folder.parents[place.title.count("/")]
    typer.echo(f"{done.scenario_id} is captured, and {event}.")
    for file in done.files:
        typer.echo(f"  {place.folder / file}")
    typer.echo("Next:")
    typer.echo(f"  1. In scenario.yaml, replace every {UNEDITED} by what you expect; until then it cannot be loaded.")
    typer.echo("  2. In README.md, write what happened and what a good answer contains.")
    chosen = " and ".join(place.title.split("/"))
    typer.echo(f"  3. tallystick eval run {quote(str(root))} -k {quote(chosen)}")


def _print_table(console: Console, alerts: Sequence[FiringAlert]) -> None:
    columns = ("", "alert", "namespace", "severity", "firing since", "fingerprint")
    shown = make_table(*columns, right=("",), wrap=("alert", "namespace"))
    for index, alert in enumerate(alerts):
        shown.add_row(
            str(index),
            truncate(one_line(alert.name)),
            truncate(one_line(alert.labels.get("namespace"))),
            one_line(alert.labels.get("severity")),
            one_line(alert.starts_at),
            one_line(alert.fingerprint),
        )
    console.print(shown)
